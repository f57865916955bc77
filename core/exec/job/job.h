/* SPDX-License-Identifier: MIT */
/* One job: its unit, its plan, the order of its steps, its end. */
#ifndef KETTLE_EXEC_JOB_H
#define KETTLE_EXEC_JOB_H

#include <jansson.h>
#include <kettle/error.h>
#include <stdbool.h>
#include <stdint.h>

#include "exec/context/exec_context.h"
#include "exec/job/folder.h"
#include "exec/job/device_hold.h"

/*
 * The named state transitions, at which the crash tests kill kettle-exec (failpoint.h):
 *
 *   exec.hello     before the greeting
 *   exec.accepted  a plan passed its check, nothing is on disk yet
 *   exec.started   before `started` is sent
 *   exec.prepare   before a step's folder is made or its key computed
 *   exec.cached    a step was found in the cache
 *   exec.waiting   before a job begins to wait for its device
 *   exec.device    it holds the device
 *   exec.step      before a step's process is started
 *   exec.running   a step's process was started
 *   exec.ended     a step's process has ended, its report is taken
 *   exec.collect   before what it left is taken over
 *   exec.store     before a build is put into the cache
 *   exec.outcome   before an outcome is sent
 *   exec.cancel    a job was told to stop
 *   exec.done      before `done` is sent
 *   exec.removed   after `done`, before the job's folders are removed
 */

#define JOB_MAX_REF 200
#define JOB_MAX_SLOTS 64
#define JOB_MAX_PLACES 64 /* of a unit and those that it is given together with */

/* What one lock stands for, and what a step that needs one device gets. */
struct place {
	char *gpu; /* index or UUID; NULL: none */
	struct cores cores;
	unsigned slots;
	char *lock;
};

/* Where a job runs: the checked `unit` of its run line. */
struct unit {
	const char *name; /* borrowed from the line, or "local" */
	enum sandbox_level level;
	struct place *places; /* at least one */
	size_t count;
};

struct step;

/* Loop thread. */
struct job {
	struct exec *exec;
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
	bool cancelled, reported;
	bool stopped;          /* its steps were told to end */
	bool advancing, again; /* inner: job_advance is at work, and must look once more */
	char *lost;            /* why the machine is not to be trusted any more */
	struct hold hold;
	uint64_t received_ns, device_ns;
};

/*
 * Accepts a run line (stolen): checks it and begins. A line that cannot be carried out is answered with its `done`
 * (status lost). A failure means that not even that was possible: err says what the line lacks.
 */
int job_start(struct exec *exec, json_t *line_take, struct kettle_error *err);
struct job *job_find(const struct exec *exec, const char *ref);
/* Kills what runs; its `done` comes with status cancelled. */
void job_cancel(struct job *job);
/* The same for all jobs. */
void job_cancel_all(struct exec *exec);

/* Whether what its steps saw is to stay for somebody to look at. [any] */
bool job_is_kept(const struct job *job);
/* For its steps: one has ended; go on. */
void job_advance(struct job *job);
/* A step's process was killed and does not die: the job is over, the machine is not to be trusted. */
void job_lose(struct job *job, const char *why);
/* Its devices are held now: the steps that waited for them go on. */
void job_devices_held(struct job *job);

#endif
