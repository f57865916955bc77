/* SPDX-License-Identifier: MIT */
/* One step of a job: its folder, its processes, its outcome. */
#ifndef KETTLE_EXEC_STEP_H
#define KETTLE_EXEC_STEP_H

#include <jansson.h>
#include <kettle/error.h>
#include <stdbool.h>
#include <uv.h>

#include "exec/build/build_slots.h"
#include "exec/util/sha256.h"
#include "exec/job/job.h"
#include "exec/plan/limits.h"
#include "exec/job/process.h"
#include "exec/plan/result.h"
#include "exec/tools/toolchain.h"
#include "exec/warm/warm.h"

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

	bool asked_warm;       /* whether it may begin as a copy */
	struct warm_wait warm; /* ... and of what */
	struct build_slot slot;
	struct build_flight flight;
	uv_work_t work;
	void (*work_run)(struct step *step);
	void (*work_done)(struct step *step);
	json_t *outcome;
};

/* Takes a step of a checked plan; nothing is done yet. */
int step_open(struct step *step, struct job *job, const json_t *plan, const char *dir, struct kettle_error *err);
void step_close(struct step *step);

/* Everything it needs has passed and it is its turn. The end comes by job_advance, perhaps before this returns. */
void step_begin(struct step *step);
/* Ends a step that has not begun. `why` (may be NULL) is a sentence. */
void step_end_unbegun(struct step *step, enum step_state state, const char *why);
/* Stops it, whatever it does; its end comes later unless it only waited. */
void step_cancel(struct step *step);
/* The job holds the device now: a step that waited for it goes on. */
void step_device_granted(struct step *step);

#endif
