/* SPDX-License-Identifier: MIT */
/* Declarations that the files of the runner slurm share. Everything on the loop thread. */
#ifndef KETTLE_RUNNERS_SLURM_INTERNAL_H
#define KETTLE_RUNNERS_SLURM_INTERNAL_H

#include <jansson.h>
#include <kettle/host.h>
#include <kettle/runner.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runners/common/remote.h"
#include "runners/slurm/slurm_answers.h"
#include "runners/slurm/slurm_arguments.h"

#define SLURM_LAST_STDERR_MAX 600
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
	const struct kettle_host *host;
	json_t *section;
	char *folder, *exec, *config;          /* exec: NULL until it is found */
	const char *sbatch, *squeue, *scancel; /* from the section */
	uint64_t poll_ms, queue_ms, grace_ms, command_ms;
	char uid[16];
	char **environment; /* of the commands */
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
	struct slurm_command *commands;
	unsigned busy; /* calls of slurm_work that have not ended */
	bool stopping;
	kettle_fn remote_stopped, stopped; /* stopped: no job is left; waits for commands and threads */
	void *stopped_arg;
};

/* ---- slurm_command.c: the commands of Slurm ---- */

/* The end of a command. Borrowed. */
struct slurm_end {
	bool worked;             /* exit status 0, in time, and no more output than expected */
	const char *last_stderr; /* its last line of standard error, in plain ASCII, or what was wrong with it */
};

struct slurm_use {
	void (*on_line)(void *arg, char *line);                 /* a line of output, which it may change; NULL: ignored */
	void (*on_end)(void *arg, const struct slurm_end *end); /* called once */
	void *arg;
	size_t max_lines;
};

/* Starts a command. On error on_end is not called. */
int slurm_command_run(
	struct slurm *slurm, const struct arguments *arguments, const struct slurm_use *use, struct kettle_error *err);
/* Kills the running commands; their on_end is still called. */
void slurm_command_kill_all(struct slurm *slurm);
/* The environment of the commands: only the variables of the engine that they need, since jobs inherit it. New. */
char **slurm_command_environment(void);
void slurm_command_environment_free(char **environment);

/* ---- slurm_job.c: the meaning of answers for a job ---- */

extern const struct remote_ops slurm_remote_ops;
uint64_t slurm_now_ms(const struct slurm *slurm);
/* The job of this name, or of a row of the queue; NULL: none of this runner. */
struct slurm_job *slurm_job_find(const struct slurm *slurm, const char *name);
struct slurm_job *slurm_job_of_row(const struct slurm *slurm, const struct squeue_row *row);
/* Makes a job a task of an array; array is stolen. */
void slurm_job_set_array(struct slurm_job *own, char *array_take, size_t task);
/* The job's name in Slurm. Borrowed. */
const char *slurm_job_slurm_name(const struct slurm_job *own);
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
void slurm_finish_stop(struct slurm *slurm);

/* ---- slurm_submit.c: sbatch ---- */

/* `send` of remote.h. */
void slurm_submit(struct remote_job *job);
/* Starts a submission if none is under way; jobs that wait together go as one. */
void slurm_submit_next(struct slurm *slurm);
/* Takes the job out of the batch under way. */
void slurm_submit_leave(struct slurm_job *own);
/* The controller answers again: jobs that wait for another try need not wait longer. */
void slurm_submit_soon(struct slurm *slurm);
/*
 * The kettle-exec of the nodes: the section's `exec`, else the one unpacked in the shared folder under the archive's
 * digest. ENOENT: it does not exist, and the sentence says how to make it. Blocks. New string.
 */
int slurm_submit_find_exec(const json_t *section, const char *folder, char **ret_exec, struct kettle_error *err);

/* ---- slurm_look.c: the shared folder ---- */

/* Answers `ask` of remote.h for the jobs that wait for it, by the contents of the folder and the state of the queue. */
void slurm_look_next(struct slurm *slurm);

/* ---- slurm_queue.c: squeue ---- */

/* Lists the queue, if that is due. */
void slurm_queue_next(struct slurm *slurm);
/* Makes the next list due at once. */
void slurm_queue_soon(struct slurm *slurm);
/* `status` of kettle/runner.h, from the next snapshot. */
int slurm_queue_status(void *self, remote_done done, void *arg, struct kettle_error *err);

/* ---- slurm_init.c: preparing the shared folder ---- */

int slurm_init(void *self, const json_t *args, remote_done done, void *arg, struct kettle_error *err);

#endif
