/* SPDX-License-Identifier: MIT */
/* Declarations that the files of the runner slurm share. Everything on the loop thread, unless it says otherwise. */
#pragma once

#include <jansson.h>
#include <kettle/host.h>
#include <kettle/option.h>
#include <kettle/runner.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runners/common/command.h"
#include "runners/common/remote.h"

/* ---- slurm_text.c: the output of Slurm's commands, read strictly, and their arguments. [any] ---- */

#define SLURM_ID_SIZE 24 /* of a job id with its NUL */
/*
 * For `squeue --array`. The name comes last, since only it may contain a |, and has an end mark, since names of other
 * jobs may contain newlines.
 */
#define SQUEUE_END "|."
#define SQUEUE_FORMAT "%F|%K|%T|%r|%j" SQUEUE_END
#define SQUEUE_HEADER "ARRAY_JOB_ID|ARRAY_TASK_ID|STATE|REASON|NAME" SQUEUE_END
#define SQUEUE_ROW_MAX 16384 /* bytes of a row, over all its lines */

/* One row of squeue; borrowed from its text. */
struct squeue_row {
	const char *id; /* of the job, or of its array: digits */
	long task;      /* of an array; -1: no task */
	const char *state, *reason, *name;
};

/* The meaning of a state of Slurm for a job without a result. */
enum slurm_standing {
	SLURM_PENDING,
	SLURM_RUNNING,    /* running, or being ended */
	SLURM_TAKEN_AWAY, /* by Slurm: its node failed, or it was preempted or cancelled */
	SLURM_FAILED,     /* its program or its time ended */
};

/* Whether the row that begins like this is complete. */
bool squeue_row_is_whole(const char *text);
/* Splits a complete row, in place. false: it is no row. */
bool squeue_row_parse(char *line, struct squeue_row *ret_row);
/* An unknown state counts as running: only an absent job counts as missed. */
enum slurm_standing slurm_standing(const char *state);
/* Reads the id in the answer of `sbatch --parsable` ("12" or "12;cluster"). false: it is no such answer. */
bool sbatch_answer_parse(const char *line, char ret_id[SLURM_ID_SIZE]);
/*
 * Whether a line of sbatch's standard error says that the cluster will never take such a job. Other failures may pass:
 * a controller that does not answer, limits of how many jobs may queue. *ret_reason: the message, borrowed from the
 * line.
 */
bool sbatch_is_refusal(const char *line, const char **ret_reason);

#define SLURM_DEFAULT_MEMORY_MB 8192
#define SLURM_DEFAULT_CORES 2

/* The options of a unit. */
#define SLURM_UNIT_OPTIONS 9
extern const struct kettle_option slurm_unit_options[SLURM_UNIT_OPTIONS];

/* EINVAL: a flag in the unit's options is one that this runner sets itself, or is no long option. */
int slurm_unit_check(const json_t *unit, struct kettle_error *err);
/* The memory of a job in MiB: from the options, else from the unit's `memory`, else the default. */
long long slurm_unit_memory_mb(const json_t *unit);
/* The minutes of a job: from the options, else the time that its plan may take (deadline_ms, 0: unknown). */
long long slurm_unit_minutes(const json_t *unit, uint64_t deadline_ms);
/*
 * The unit for kettle-exec on a node: without its slots, since the job has Slurm's allocation for itself, and with the
 * job's memory. New reference.
 */
json_t *slurm_unit_on_node(const json_t *unit);

/* One call of sbatch. */
struct sbatch_request {
	const char *sbatch; /* the command */
	const json_t *unit;
	const char *name;   /* of the job or array */
	const char *output; /* receives the script's output */
	size_t tasks;       /* of an array; 0: a single job */
	long long minutes;
};

/* Appends sbatch and its options; the script and its arguments follow. */
void sbatch_arguments(const struct sbatch_request *request, struct arguments *arguments);

/* ---- shared_folder.c ---- */

/*
 * The folder that the engine and the nodes of a cluster share:
 *
 *     slurm-job.sh     what sbatch gives to the nodes
 *     key              the key of the plans, for kettle-exec
 *     exec/DIGEST/     kettle-exec, unpacked from the archive of that digest
 *     jobs/NAME/       a job's plan.kettle, progress, log; claim, a folder that its run makes to begin, with its array's id, or a link
 *                      that the engine makes to prevent that; task, if it is one of an array: "ARRAY NUMBER"
 *     jobs/ARRAY/      list: the names of an array's jobs; log.NUMBER
 *     results/NAME     a job's result, until the engine has read it and Slurm has forgotten the job
 *     done/NAME        a job's result after that, for an engine that was killed before it had stored the verdict
 *     done/NAME.claim  likewise the claim of a job that has left no result, which says whether it had begun
 *
 * All of it belongs to the user of the engine, whom the jobs run as, and is closed to others. [any]; all block.
 */

#define SHARED_PROGRESS_MAX (256u << 10) /* bytes of the progress of one job that are read */
#define SHARED_REPORT_MAX (4u << 20)     /* bytes of the report of kettle-exec --doctor */
#define SHARED_ARRAY_MAX 500             /* tasks of an array */
#define SHARED_KEEP_DAYS 60
#define SHARED_DONE_DAYS 1
#define SHARED_SCRIPT "slurm-job.sh"

extern const char slurm_job_script[]; /* slurm-job.sh of the sources */

/* Makes the folders in it. ENOENT: the folder itself is missing; EACCES: other users can write to it. */
int shared_folder_make(const char *folder, struct kettle_error *err);
/* Writes the job script, unless it is there. */
int shared_folder_put_script(const char *folder, struct kettle_error *err);
/*
 * Makes the folder of a job and writes its sealed plan there, if it has one; array NULL: the job is no task.
 * ECONFLICT: the job has begun before.
 */
int shared_folder_put(const char *folder, const char *name, const void *plan, size_t size, const char *array,
	size_t task, struct kettle_error *err);
/* Writes the list of an array's names, one a line. */
int shared_folder_put_list(const char *folder, const char *array, const char *list, struct kettle_error *err);
/* The array that shared_folder_put recorded. New string; NULL: the job is no task. */
char *shared_folder_array(const char *folder, const char *name, size_t *ret_task);
/* Whether the folder can be reached: a mount that is gone shows nothing of any job. */
bool shared_folder_is_there(const char *folder);
/*
 * Claims a job, so that it never begins. 1: it had not begun, whether it is claimed now or was before; 0: it has
 * begun, or its folder is gone; else an error.
 */
int shared_folder_claim(const char *folder, const char *name, struct kettle_error *err);
/* The id of its array, which the run of a job has written into its claim. New string; NULL: there is none. */
char *shared_folder_claim_id(const char *folder, const char *name);
/* Whether there are files of a job other than its result. */
bool shared_folder_has(const char *folder, const char *name);
void shared_folder_remove(const char *folder, const char *name);
/* Moves a job's result (or its claim) into done/, and removes its folder, and that of the array whose last task it is. */
void shared_folder_retire(const char *folder, const char *name, const char *array);
/* Moves a job's files in done/ back. */
void shared_folder_restore(const char *folder, const char *name);
/* The path of a result. New string. */
char *shared_folder_result(const char *folder, const char *name);
/* The names of at most `most` files in results/, an array of texts. ENOENT, EACCES, EIO. New reference. */
int shared_folder_results(const char *folder, size_t most, json_t **ret_names, struct kettle_error *err);
/* The whole lines after an offset of a job's progress. Moves the offset. New string; NULL: there are none. */
char *shared_folder_progress(const char *folder, const char *name, size_t *offset);
/* Reads the report of a run of kettle-exec --doctor. Returns 1; 0: there is none yet. New string in *ret_text. */
int shared_folder_report(const char *folder, const char *name, char **ret_text, size_t *ret_size);
/* The last line that a job's script has printed; array as for shared_folder_put. New string; "": nothing. */
char *shared_folder_last_words(const char *folder, const char *name, const char *array, size_t task);
/* Removes jobs and results that have not changed for SHARED_KEEP_DAYS, and files in done/ after SHARED_DONE_DAYS. */
void shared_folder_sweep(const char *folder, int64_t now_ms);

/* ---- the runner ---- */

#define SLURM_NOT_SENT UINT64_MAX /* since_snapshot of a job that Slurm does not have */

/* A job's own data: its state in Slurm and in the shared folder. */
struct slurm_job {
	struct remote_job *job;
	uint64_t serial; /* unique, unlike the job's name */
	uint64_t began_ms;
	/* Its submission. */
	char *array; /* whose task it is; NULL: it is no task */
	size_t task, tasks;
	bool wanted;   /* it waits for a call of sbatch */
	bool in_batch; /* it is part of the batch under way */
	bool written;  /* its plan is in the shared folder */
	bool sent;     /* sbatch was called, so Slurm may have it */
	unsigned tries;
	uint64_t again_ms; /* earliest time of the next call */
	/* Its folder. */
	bool recovered;  /* the engine may have been killed before it wrote the folder */
	bool unplaced;   /* likewise, and the folder was not read yet */
	bool visiting;   /* a thread of the pool is in its folder */
	bool retired;    /* its folder is removed */
	bool asked;      /* the next look into the folder includes it */
	size_t progress; /* bytes of its progress that were read */
	/* In the queue: the last snapshot that listed it; the newest snapshot that is too old to miss it. */
	uint64_t seen, since_snapshot;
	uint64_t missing_ms;    /* since when the queue lacks it; 0: listed, or unknown */
	char id[SLURM_ID_SIZE]; /* of the job or array; "": not known yet */
	bool id_told;           /* its run told the id, so that it can be cancelled */
	enum slurm_standing standing;
	char state[32], reason[64];
	/* Its cancel. */
	uint64_t left_ms;                    /* since when it is ORPHANED; 0: it is not */
	bool unwanted;                       /* it was cancelled; false: it is only left over */
	bool claimed;                        /* it was claimed for the cancel, or has begun */
	bool cancel_sent, cancelling;        /* a scancel has worked; the running one includes it */
	uint64_t cancel_ms, cancel_snapshot; /* earliest time; a job listed after this is cancelled again */
};

struct slurm {
	struct remote remote; /* first */
	json_t *section;
	char *exec;                                              /* NULL until it is found */
	const char *folder, *config, *sbatch, *squeue, *scancel; /* from the section */
	uint64_t poll_ms, queue_ms, grace_ms, command_ms;
	char uid[16];
	uint64_t serials;
	json_t *arrays; /* array → number of a task → name of its job */
	/* looks */
	bool looking;
	uint64_t look_ms;   /* earliest time of the next look */
	uint64_t looked_ms; /* start of the last good look */
	bool unlooked;      /* the last look failed */
	uint64_t swept_ms;
	/* the queue */
	struct slurm_query *query;
	uint64_t snapshot;       /* number of the newest one, which may be under way or have failed */
	uint64_t taken;          /* the number of the newest valid one */
	uint64_t query_ms;       /* earliest time of the next squeue */
	uint64_t queried_ms;     /* start of the last squeue */
	unsigned query_failures; /* in a row */
	char *unlisted;          /* why the queue cannot be listed; NULL: it can */
	/* submissions */
	struct slurm_batch *batch;
	char *unsent;                   /* why Slurm did not take the last batch; NULL: it did */
	bool cancelling, cancel_failed; /* cancel_failed: and that was logged */
	/* the end */
	struct commands commands;
	unsigned busy; /* calls of slurm_work that have not ended */
};

/* ---- slurm_job.c: the meaning of answers for a job ---- */

/* Starts a command of Slurm: command_run with `command_s`. */
int slurm_run(struct slurm *slurm, const struct arguments *arguments, struct command_use use, struct kettle_error *err);

extern const struct remote_ops slurm_remote_ops;
/* Makes job->own. */
struct slurm_job *slurm_job_new(struct remote_job *job);
/* The job of this name, or of a row of the queue; NULL: none of this runner. */
struct slurm_job *slurm_job_find(const struct slurm *slurm, const char *name);
struct slurm_job *slurm_job_of_row(const struct slurm *slurm, const struct squeue_row *row);
/* Makes a job a task of an array; array is stolen. */
void slurm_job_set_array(struct slurm_job *own, char *array_take, size_t task);
/* Whether the newest snapshot lists it. */
bool slurm_job_is_listed(const struct slurm_job *own);
/* Slurm has the job, or may have it and only a snapshot can tell: one that begins after this. */
void slurm_job_accepted(struct slurm_job *own);
/* The job has been missed for too long, and has left no result. */
void slurm_job_lose(struct slurm_job *own);
/* Starts what is due: a look, a submission, a scancel, a squeue. */
void slurm_go_on(struct slurm *slurm);
/* Runs `work` on a thread of the pool, then `after`, which calls slurm_work_done. */
void slurm_work(struct slurm *slurm, kettle_fn work, kettle_fn after, void *arg);
void slurm_work_done(struct slurm *slurm);
/* Completes a stop when neither commands nor threads run any more. */
void slurm_finish_stop(void *slurm);

/* ---- slurm_submit.c: sbatch ---- */

/*
 * Finds the kettle-exec of the nodes: the option `exec`, else the unpacked one under the digest of the archive. [any,
 * blocks]
 */
int slurm_find_exec(const json_t *section, const char *folder, char **ret_exec, struct kettle_error *err);
/* `send` of remote.h. */
void slurm_submit(struct remote_job *job);
/* Starts a submission if none is under way; jobs that wait together go as one. */
void slurm_submit_next(struct slurm *slurm);
/* Takes the job out of the batch under way. */
void slurm_submit_leave(struct slurm_job *own);
/* The controller answers again: jobs that wait for another try need not wait longer. */
void slurm_submit_soon(struct slurm *slurm);

/* ---- slurm_look.c: the queue and the shared folder ---- */

/* Answers `ask` of remote.h for the jobs that wait for it, by the contents of the folder and the state of the queue. */
void slurm_look_next(struct slurm *slurm);
/* Lists the queue, if that is due. */
void slurm_queue_next(struct slurm *slurm);
/* Makes the next list due at once. */
void slurm_queue_soon(struct slurm *slurm);
/* `status` of remote.h, from the next snapshot. */
void slurm_queue_status(struct remote_job *job);
