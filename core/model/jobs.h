/* SPDX-License-Identifier: MIT */
/*
 * Jobs in the database, from their submission to their verdict. All on the store's thread.
 *
 * A job is `queued`, `running`, or ended: `passed`, `failed`, `timed_out`, `error` (the engine or a machine could not),
 * `cancelled`. Only `running` has a current attempt; an outcome of another attempt is dropped. Attempts that were
 * handed back or lost with their engine do not count among those that failed with their machine. Every change below is
 * one transaction with its event.
 */
#pragma once

#include "judge/verdict.h"
#include "store/db.h"

#include <stdbool.h>

#define JOB_MAX_ATTEMPTS 3 /* that failed with their machine */
/*
 * Attempts that ended with the engine's process or a connection, or reached another machine. They have a limit because
 * a job itself may cause this.
 */
#define JOB_MAX_LOST_WITH_ENGINE 10

/* The states in which a job may end, the worst first: a fault of the code tells more than one of a machine. */
#define JOBS_END_STATES(X) X("failed") X("timed_out") X("error") X("cancelled") X("passed")

/* The secret of one job's ranked runs: 31 bits. [any] */
int64_t jobs_seed(void);

/* A new submission; borrowed. */
struct submission {
	int64_t leaderboard, task, user;
	const char *mode, *file_name, *code;
	size_t size;           /* of the code */
	const char *note;      /* or NULL */
	const char *request;   /* the caller's identifier; or NULL */
	const json_t *capture; /* of a profile; or NULL */
	const json_t *devices; /* names */
	bool practice;
};

/* Stores a submission with a job for each device: [{"job", "device"}]. Event submission.accepted. */
int jobs_accept(
	struct db *db, const struct submission *submission, int64_t *ret_id, json_t **ret_jobs, struct kettle_error *err);
/* Jobs that are not ended, oldest first: [{"job", "submission", "user", "device", "mode", "state", "attempt", "unit_key",
 * "handle", "runner", "plan_hash", "queued_at" (ms since 1970), "leaderboard" (id), "leaderboard_name"}]. */
int jobs_open(struct db *db, json_t **ret_jobs, struct kettle_error *err);
/*
 * The durations, from start to end, of the last jobs that ended with their own verdict, oldest first: [{"device",
 * "took_ms"}], of the last 1,000 jobs.
 */
int jobs_recent(struct db *db, json_t **ret_recent, struct kettle_error *err);
/* The data for planning a job. */
struct job_material {
	json_t *bundle; /* see task.h, with `jit_cache: no` where the board says so; NULL: nothing was read */
	char *code;
	char mode[16], device[256];
	char seed[16];   /* secret: 31 bits, decimal */
	json_t *capture; /* of a profile, see judge/capture.h; NULL: none */
};
/* ENOENT: deleted meanwhile. */
int jobs_material(struct db *db, int64_t job, struct job_material *ret_material, struct kettle_error *err);
void job_material_clear(struct job_material *material);
/* ECONFLICT: it is not running as this attempt any more. */
int jobs_check_running(struct db *db, int64_t job, int64_t attempt, struct kettle_error *err);
/* Where an attempt runs. */
struct job_unit {
	const char *label, *key, *runner;
};
/* queued → running as the next attempt on this unit; event job.started. ECONFLICT: no longer queued. */
int jobs_start(struct db *db, int64_t job, const struct job_unit *unit, int64_t *ret_attempt, struct kettle_error *err);
/* The data by which a runner finds an attempt again. */
struct job_handle {
	const char *text;
	const char *runner; /* the runner that stored it */
	const char *plan_hash;
};
/* Stores the runner's handle for the attempt. ECONFLICT: not its attempt any more. */
int jobs_set_handle(
	struct db *db, int64_t job, int64_t attempt, const struct job_handle *handle, struct kettle_error *err);
/*
 * Columns of a job that has ended, for answers and events. "fault": verdict_fault; "stage": "queue" or "record"
 * (nothing ran, or the result could not be stored), else verdict_stage; both null where it passed or was cancelled, or
 * where it is not known. "retriable": the same submission may pass another time although nothing has changed.
 */
#define JOBS_CAUSE "fault, stage, (fault = 'machine' OR state = 'cancelled') IS TRUE AS retriable_bool"
/*
 * Limits the lost attempts that runs of one user's jobs claim within an hour: a submission could claim them to be tried
 * again. Beyond it, if other users' jobs have passed on the same unit within that hour, the job ends as error.
 */
#define JOB_CLAIMS 6
#define JOB_CLAIMS_MS INT64_C(3600000)
/*
 * running → queued; or → error, with a sentence that quotes `reason`, when the limit of such attempts is reached
 * (kettle/runner.h; of attempts that a run claims, each of which is a use of rate limits, also JOB_CLAIMS of its user).
 * *ret_queued says which. waits: `reason` is a sentence on what the job waits for, kept until it starts. Event
 * job.requeued or job.done. ECONFLICT: not its attempt.
 */
int jobs_requeue(struct db *db, int64_t job, int64_t attempt, enum kettle_loss loss, bool waits, const char *reason,
	bool *ret_queued, struct kettle_error *err);
/*
 * running → ended, with this verdict. In the same transaction: runs, artifacts, best table, submission's state, events
 * job.done, rank.changed, leaderboard.podium, leaderboard.fault, submission.done (when it was the last). A rerun takes
 * the place of the job before it. Of a secret run mode, passed and score are stored and nothing else. ECONFLICT: not
 * its attempt any more; nothing is stored.
 */
int jobs_finish(struct db *db, int64_t job, int64_t attempt, const struct verdict *verdict, struct kettle_error *err);
/* Stores the time that recording this attempt's verdict took, in its `timing`; does nothing if the job has no timing. */
int jobs_recorded(struct db *db, int64_t job, int64_t attempt, int64_t record_ns, struct kettle_error *err);
/*
 * Every open job of the submission → cancelled; event submission.cancelled, then submission.done. Returns them:
 * [{"job", "device", "attempt"}]; ECONFLICT: none is open.
 */
int jobs_cancel(struct db *db, int64_t submission, json_t **ret_jobs, struct kettle_error *err);
/* The same for all open submissions of a user; adds their numbers. */
int jobs_cancel_all(struct db *db, int64_t user, json_t *cancelled, struct kettle_error *err);
/*
 * Runs a submission again on these devices (names as in its jobs): a new job with a new seed for each, event
 * submission.rerun, the submission is open again. The old jobs count until the new verdict, and continue to count if
 * that is `error` or `cancelled`, which say nothing about the code. [{"job", "device"}]. ECONFLICT: it is still open on
 * one of them; ENOENT: it never was on one of them.
 */
int jobs_rerun(struct db *db, int64_t submission, const json_t *devices, json_t **ret_jobs, struct kettle_error *err);
/*
 * The jobs with these numbers: [{"job", "submission", "user", "leaderboard": its name, "mode", "since", "public": whether all may see
 * the leaderboard}]. Those of deleted leaderboards are left out. New reference.
 */
int jobs_shown(struct db *db, const json_t *numbers, json_t **ret_jobs, struct kettle_error *err);
/* The open jobs of a leaderboard: [{"job", "device", "submission"}]. */
int jobs_of_board(struct db *db, int64_t leaderboard, json_t **ret_jobs, struct kettle_error *err);
/* The open jobs of a submission, in the same form as jobs_cancel. */
int jobs_of(struct db *db, int64_t submission, json_t **ret_jobs, struct kettle_error *err);
