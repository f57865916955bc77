/* SPDX-License-Identifier: MIT */
/* What the parts of the runner slurm share. Everything on the loop thread. */
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

/* A job's own: what Slurm and the shared folder say of it. */
struct slurm_job {
	struct remote_job *job;
	uint64_t serial; /* of this and no other */
	uint64_t began_ms;
	/* Its submission. */
	char *array; /* what it is a task of; NULL: of none */
	size_t task, tasks;
	bool wanted;   /* it waits for a call of sbatch */
	bool in_batch; /* it is part of the one that is under way */
	bool written;  /* its plan is in the shared folder */
	bool sent;     /* sbatch was called, so Slurm may have it */
	unsigned tries;
	uint64_t again_ms; /* the next call is not before */
	/* Its folder. */
	bool recovered;  /* the engine may have been killed before anything of it was written */
	bool unplaced;   /* likewise, and its folder was not read yet */
	bool visiting;   /* a thread of the pool is in its folder */
	bool retired;    /* its folder is removed */
	bool asked;      /* the next look into the folder is about it, too */
	size_t progress; /* bytes of its progress that were read */
	/* What the queue says: the numbers of the snapshot that listed it last, and of the newest one that counts not. */
	uint64_t seen, since_snapshot;
	uint64_t missing_ms;    /* since when it is not in the queue; 0: it is, or that is not known */
	char id[SLURM_ID_SIZE]; /* of the job or array; "": not known yet */
	bool id_told;           /* by its run, for its cancel */
	enum slurm_standing standing;
	char state[32], reason[64];
	/* Its cancel. */
	uint64_t left_ms;                    /* since when it is ORPHANED; 0: it is not */
	bool unwanted;                       /* it was cancelled, and not only left over */
	bool claimed;                        /* it was claimed for that, or has begun */
	bool cancel_sent, cancelling;        /* a scancel has worked; the one that runs is about it */
	uint64_t cancel_ms, cancel_snapshot; /* not before, and what is listed after this is cancelled once more */
};

struct slurm {
	struct remote remote; /* first */
	const struct kettle_host *host;
	json_t *section;
	char *folder, *exec, *config;          /* exec: NULL until it was looked for */
	const char *sbatch, *squeue, *scancel; /* of the section */
	uint64_t poll_ms, queue_ms, grace_ms, command_ms;
	char uid[16];
	char **environment; /* of the commands */
	uint64_t serials;
	json_t *arrays; /* array → number of a task → name of its job */
	/* looks */
	bool looking;
	uint64_t look_ms;   /* when the next one may begin */
	uint64_t looked_ms; /* when the last good one began */
	bool unlooked;      /* it was not the last one */
	uint64_t swept_ms;
	/* the queue */
	struct slurm_query *query;
	uint64_t snapshot;       /* the number of the newest one, which may be under way or have failed */
	uint64_t taken;          /* the number of the newest valid one */
	uint64_t query_ms;       /* when the next one may begin */
	uint64_t queried_ms;     /* when the last one began */
	unsigned query_failures; /* in a row */
	char *unlisted;          /* why it cannot be listed; NULL: it can */
	/* submissions */
	struct slurm_batch *batch;
	char *unsent;                   /* why the last one could not be given to Slurm; NULL: it could */
	bool cancelling, cancel_failed; /* cancel_failed: and it was logged */
	/* the end */
	struct slurm_command *commands;
	unsigned busy; /* works on other threads */
	bool stopping;
	kettle_fn remote_stopped, stopped; /* stopped: no job is left, and it waits for commands and threads */
	void *stopped_arg;
};

/* ---- slurm_command.c: the commands of Slurm ---- */

/* How a command ended. Borrowed. */
struct slurm_end {
	bool worked;             /* with status 0, in time, and with no more output than expected */
	const char *last_stderr; /* what it wrote to its standard error, in plain ASCII, or what was wrong with it */
};

struct slurm_use {
	void (*on_line)(void *arg, char *line); /* a line of its output, which it may change; NULL: ignored */
	void (*on_end)(void *arg, const struct slurm_end *end); /* once */
	void *arg;
	size_t max_lines;
};

/* Starts one. An error: on_end is not called. */
int slurm_command_run(
	struct slurm *slurm, const struct arguments *arguments, const struct slurm_use *use, struct kettle_error *err);
/* Ends those that run: their on_end still comes. */
void slurm_command_kill_all(struct slurm *slurm);
/* The environment of the commands: what they need of the engine's, and nothing else, since jobs inherit it. New. */
char **slurm_command_environment(void);
void slurm_command_environment_free(char **environment);

/* ---- slurm_job.c: what an answer means for a job ---- */

extern const struct remote_ops slurm_remote_ops;
uint64_t slurm_now_ms(const struct slurm *slurm);
/* What a name belongs to, or a row of the queue; NULL: to none of this runner. */
struct slurm_job *slurm_job_find(const struct slurm *slurm, const char *name);
struct slurm_job *slurm_job_of_row(const struct slurm *slurm, const struct squeue_row *row);
/* Makes a job a task of an array; array is stolen. */
void slurm_job_set_array(struct slurm_job *own, char *array_take, size_t task);
/* Its name in Slurm. Borrowed. */
const char *slurm_job_slurm_name(const struct slurm_job *own);
/* Whether the newest snapshot lists it. */
bool slurm_job_is_listed(const struct slurm_job *own);
/* Slurm has the job, or perhaps, where only a snapshot can tell: that one begins after this. */
void slurm_job_accepted(struct slurm_job *own);
/* It has been missed for too long, and has left no result. */
void slurm_job_lose(struct slurm_job *own);
/* Begins what may begin: a submission, a scancel, a squeue. */
void slurm_go_on(struct slurm *slurm);
/* Runs work on a thread of the pool, then after, which calls slurm_work_done. */
void slurm_work(struct slurm *slurm, kettle_fn work, kettle_fn after, void *arg);
void slurm_work_done(struct slurm *slurm);
/* Completes a stop when nothing is under way any more. */
void slurm_finish_stop(struct slurm *slurm);

/* ---- slurm_submit.c: sbatch ---- */

/* `send` of remote.h. */
void slurm_submit(struct remote_job *job);
/* Begins what may begin: one submission at a time, several jobs in one where they wait anyway. */
void slurm_submit_next(struct slurm *slurm);
/* The job leaves the one that is under way. */
void slurm_submit_leave(struct slurm_job *own);
/* The controller answers again: what waits to be tried again need not wait longer. */
void slurm_submit_soon(struct slurm *slurm);
/*
 * The kettle-exec of the nodes: the section's `exec`, else the one unpacked in the shared folder under the archive's digest.
 * ENOENT: it is not there, and the sentence says what makes it. Blocks. New string.
 */
int slurm_submit_find_exec(const json_t *section, const char *folder, char **ret_exec, struct kettle_error *err);

/* ---- slurm_look.c: the shared folder ---- */

/* Answers `ask` of remote.h for the jobs that are asked for, by what is in the folder, and what the queue says. */
void slurm_look_next(struct slurm *slurm);

/* ---- slurm_queue.c: squeue ---- */

/* Lists the queue, where that is due. */
void slurm_queue_next(struct slurm *slurm);
/* The next list is due at once. */
void slurm_queue_soon(struct slurm *slurm);
/* `status` of kettle/runner.h: what the next snapshot says. */
int slurm_queue_status(void *self, remote_done done, void *arg, struct kettle_error *err);

/* ---- slurm_init.c: the shared folder is prepared ---- */

int slurm_init(void *self, const json_t *args, remote_done done, void *arg, struct kettle_error *err);

#endif
