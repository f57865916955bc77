/* SPDX-License-Identifier: MIT */
/* A job, its steps and their processes, as the files of this folder see them. */
#ifndef KETTLE_EXEC_JOB_INTERNAL_H
#define KETTLE_EXEC_JOB_INTERNAL_H

#include <jansson.h>
#include <kettle/error.h>
#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "exec/build/build_slots.h"
#include "exec/context/exec_context.h"
#include "exec/job/device_lease.h"
#include "exec/job/folder.h"
#include "exec/job/process.h"
#include "exec/plan/limits.h"
#include "exec/plan/result.h"
#include "exec/tools/toolchain.h"
#include "exec/util/sha256.h"
#include "exec/warm/warm.h"

#define JOB_MAX_SLOTS 64
#define JOB_MAX_DEVICES 64 /* of a unit and those that it is given together with */

/* What one lock stands for, and what a step that needs one device gets. */
struct device_slot {
	char *gpu; /* index or UUID; NULL: none */
	struct cores cores;
	unsigned slots;
	char *lock;
};

/* Where a job runs: the checked `unit` of its run line. */
struct unit {
	const char *name; /* borrowed from the line, or "local" */
	enum sandbox_level level;
	struct device_slot *devices; /* at least one */
	size_t count;
};

struct step;

/* Loop thread. */
struct job {
	struct exec_context *exec;
	struct job *next;
	json_t *line; /* owns ref, plan and unit */
	const char *ref;
	const json_t *plan;
	struct unit unit;
	char *dir;       /* below the spool; all that the job has on disk */
	char *artifacts; /* where artifacts go */
	const char *blob_dirs[3];
	struct step *steps;
	size_t count;
	struct folder_step *outputs; /* one for each step */
	bool keep;                   /* what its steps saw stays for somebody to look at */
	bool cancelled, reported;
	bool stopped;          /* its steps were told to end */
	bool advancing, again; /* inner: job_advance is at work, and must look once more */
	char *lost;            /* why the machine is not to be trusted any more */
	struct device_lease lease;
	uint64_t received_ns, device_ns;
	/* Set by job.c, called by what is below it. */
	void (*advance)(struct job *job);               /* a step has ended, or the devices were given back: go on */
	void (*devices_held)(struct job *job);          /* the steps that waited for them go on */
	void (*lose)(struct job *job, const char *why); /* a process was killed and does not die */
};

/* How steps end: name, name on the wire. */
#define STEP_STATES(X) \
	X(PASSED, "passed") \
	X(FAILED, "failed") \
	X(LIMIT, "limit") \
	X(SKIPPED, "skipped") \
	X(CANCELLED, "cancelled") \
	X(ERROR, "error")
enum step_state {
#define X(name, wire) STEP_##name,
	STEP_STATES(X)
#undef X
};

/* Where a step is: not begun; work on a thread of the pool; waiting for a device, a slot or another build; its
 * processes run; over. */
enum step_phase { STEP_IDLE, STEP_WORKING, STEP_QUEUED, STEP_RUNNING, STEP_ENDED };

/* A process of a step: the only one, or the referee, or the solver. */
struct step_process {
	struct step *step;
	const json_t *plan;      /* has argv, env, inputs: the step, its referee or its solver */
	const struct tool *tool; /* NULL: argv[0] is a file of its folder */
	struct limits limits;
	char *dir;
	struct process process;
	bool running;
};

/* The numbers under which a step's processes get their descriptors. */
#define STEP_FD_RESULT 3
#define STEP_FD_PEER 4
#define STEP_FD_SHM 5
#define STEP_FD_SECRET 6

/* Loop thread, except while phase is STEP_WORKING: then it is the pool thread's. */
struct step {
	struct job *job;
	const json_t *plan;
	const char *id;
	enum step_kind kind;
	unsigned device;
	json_t *visible;    /* the GPUs that it may see, of those that its job holds */
	struct cores cores; /* of its places; all of the machine where they say none */
	enum step_phase phase;
	enum step_state state; /* once ended */
	/* CLOCK_MONOTONIC; 0: not so far. queued: its folder is there; launched: it has device and slot. */
	uint64_t begun_ns, queued_ns, launched_ns, ended_ns;

	struct step_process processes[2];
	size_t count;
	struct result result;

	char *dir, *kept;                     /* its folder below the job's; its outputs */
	json_t *manifest;                     /* of kept */
	json_t *artifacts;                    /* array of manifest entries, or NULL */
	json_t *texts;                        /* {"stdout", "stderr"} */
	json_t *stored;                       /* the cache's manifest after a hit */
	const struct tool *profiler, *helper; /* of a step with `profile`; profiler NULL: the machine lacks it */
	bool cacheable, hit;                  /* may come from the cache; did */
	bool collect, trim;                   /* what the collecting work is to do */
	char key[DIGEST_HEX_SIZE];
	char toolchain[DIGEST_HEX_SIZE];
	json_t *gpus;        /* what its GPUs did meanwhile (gpuwatch_after), or NULL */
	json_t *gpu_reading; /* the last of that work */
	json_t *throttled;   /* what slowed them the first time, where it was repeated for that; else NULL */
	int secret;          /* the pipe that its secret lies in until it is read; -1: none */

	struct kettle_error error; /* the machine's trouble */
	struct kettle_error fault; /* the step's own, where a sentence is needed */
	char *missing;             /* a tool that this machine lacks */
	const char *limit;         /* name of what it was killed at */

	bool asked_warm;         /* whether it may begin as a copy */
	struct warm_waiter warm; /* ... and of what */
	struct build_waiter slot;
	struct build_inflight flight;
	uv_work_t work;
	void (*work_run)(struct step *step);
	void (*work_done)(struct step *step);
	json_t *outcome;
};

#endif
