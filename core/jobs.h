/* SPDX-License-Identifier: MIT */
/*
 * Jobs in the database: what the engine reads and writes. All on the store's thread.
 *
 * A job is `queued`, `running`, or ended: `passed`, `failed`, `timed_out`, `error` (the engine or a machine could not),
 * `cancelled`. Only `running` has a current attempt; an outcome of another attempt is dropped. Attempts that were
 * handed back count as spared. Every change below is one transaction with its event.
 */
#ifndef KETTLE_JOBS_H
#define KETTLE_JOBS_H

#include "db.h"

#define JOB_MAX_ATTEMPTS 3

/* Jobs that are not ended, oldest first:
 * [{"job","submission","user","device","mode","state","attempt","unit","handle","queued_at", "leaderboard"}]. */
int jobs_open(struct db *db, json_t **ret_jobs, struct kettle_error *err);
/*
 * What is needed to plan it: {"task": bundle (task.h), "code", "file_name", "mode", "device", "seed" (secret, 31 bits,
 * decimal text), "submission", "user", "leaderboard"}. ENOENT: deleted meanwhile.
 */
int jobs_material(struct db *db, int64_t job, json_t **ret_material, struct kettle_error *err);
/* queued → running as the next attempt on this unit; event job.started. ECONFLICT: no longer queued. */
int jobs_start(struct db *db, int64_t job, const char *unit, int64_t *ret_attempt, struct kettle_error *err);
/* Stores the runner's handle for the attempt. ECONFLICT: not its attempt any more. */
int jobs_set_handle(struct db *db, int64_t job, int64_t attempt, const char *handle, struct kettle_error *err);
/*
 * running → queued. spared: the attempt does not count (handed back). Else, when the attempts are used up, → error with
 * `reason` as the sentence ("the runner failed three times: …"). *ret_queued says which. Event job.requeued or
 * job.done.
 */
int jobs_requeue(struct db *db, int64_t job, int64_t attempt, bool spared, const char *reason, bool *ret_queued,
	struct kettle_error *err);
/*
 * running → ended. verdict (verdict.h): {"state", "score" or null, "low", "high", "error", "runs": [{"mode", "secret",
 * "passed", "score", "start", "end", "compilation", "result", "system", "timing"}], "artifacts": […], "system": {…}}.
 * In the same transaction: runs, best table, submission's state, events job.done, submission.done (when it was the
 * last), rank.changed. ECONFLICT: not its attempt any more; nothing is stored.
 */
int jobs_finish(struct db *db, int64_t job, int64_t attempt, const json_t *verdict, struct kettle_error *err);

/* Recomputes a user's (0: everybody's) entry in the best table of a board's device (NULL: all), with rank.changed where
 * it moved. */
int best_recompute(struct db *db, int64_t leaderboard, const char *device, int64_t user, struct kettle_error *err);

#endif
