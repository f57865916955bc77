/* SPDX-License-Identifier: MIT */
/* Jobs that no queue knows: a plan on one unit, for a command of this process that waits for its end. Loop thread. */
#pragma once

#include "judge/plan.h"
#include "session/core.h"

/* The first unit of a device, as languages see it; device NULL: of the first device. NULL: there is none. New reference. */
json_t *local_job_unit(const struct core *core, const char *device);
/* The named devices (NULL or empty: those that the task of the bundle names, else all configured ones). New reference. */
json_t *local_job_devices(const struct core *core, const json_t *bundle, const json_t *devices);
/* The unit's runner; NULL: it is not loaded. */
const struct runner *local_job_runner(const struct core *core, const json_t *unit);
#define LOCAL_JOB_DESCRIBE_MS 60000
/*
 * Stores the runner's facts of the unit as its "facts", then calls then(arg), perhaps before this returns. A unit
 * without a GPU is described only if the task sets `memory`. A unit that cannot be described, or
 * not within LOCAL_JOB_DESCRIBE_MS, is planned as it is configured.
 */
void local_job_describe(const struct core *core, const json_t *task, json_t *unit, void (*then)(void *arg), void *arg);
#define LOCAL_JOB_SLACK_MS 120000 /* beside the wall limits of the steps */
#define LOCAL_JOB_CANCEL_MS 30000 /* for a runner to complete a cancelled job */
/*
 * Gives the plan to the unit's runner. The caller sets `event` and `done` of job, this function the rest. The job's
 * reference begins with `kind`, which also owns what the job leaves in caches. A job that exceeds the sum of its steps'
 * limits is cancelled, and lost if the runner does not complete it then. The runner may complete the job before this
 * returns. The machine must match `expect` of the unit, or without it the unit's `model`. A negative code: `done` was
 * not called, and will not be. EINVAL: the runner is not loaded.
 */
int local_job_start(struct core *core, struct inflight_job *job, const char *kind, json_t *unit,
	const struct plan *plan, struct kettle_error *err);
/* Publishes a command's progress, with these members, for its caller (struct waiter). */
void local_job_tell(struct core *core, uint64_t caller, json_t *members_take);
/* The same for an event on a device, or on something else of that name. */
void local_job_progress(struct core *core, uint64_t caller, const char *device, json_t *event_take);
/* Publishes an event of a job of this process as such progress, without the secrets of the plan. */
void local_job_publish(
	struct core *core, uint64_t caller, const struct plan *plan, const char *device, const json_t *event);
