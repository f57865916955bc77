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

struct slurm;
struct slurm_submission;

enum slurm_state {
	SLURM_FRESH,     /* it waits for a call of sbatch */
	SLURM_SUBMITTED, /* it is part of a submission, which sbatch has not accepted */
	SLURM_FINDING,   /* recovered: its folder is read */
	SLURM_QUEUED,    /* Slurm has it */
	SLURM_ENDED,     /* completed; it stays for a while after Slurm does not list it any more */
};

/* One attempt, as Slurm and the shared folder have it. */
struct slurm_job {
	struct slurm *slurm;
	struct slurm_job *next;
	struct remote_job *remote; /* NULL: it has ended */
	char *name;
	char *array; /* what it is a task of; NULL: of none */
	size_t task;
	char id[SLURM_ID_SIZE]; /* of the job or array; "": not known yet */
	enum slurm_state state;
	struct slurm_submission *submission; /* while SUBMITTED */
	/* What the queue says; `seen` is the number of the snapshot that listed it last. */
	uint64_t seen, since_snapshot; /* that it is missing counts only in later snapshots than since_snapshot */
	enum slurm_standing seen_standing;
	char seen_state[32], seen_reason[64];
	uint64_t missing_ms;                      /* when it was missed first; 0: it is not */
	uint64_t queued_ms, running_ms, ended_ms; /* queued_ms: before Slurm has it, since when the runner has */
	uint64_t gone_ms;                         /* when an ended job had left the queue; 0: it has not */
	bool cancel_wanted, cancel_sent;
	bool cancelling;    /* the scancel that runs is about it */
	bool recovered;     /* the engine may have been killed before anything of it was written */
	bool unfound;       /* it is FINDING, and the folder could not be reached */
	bool losing;        /* it is being claimed, since nothing is known of it */
	uint64_t cancel_ms; /* not before */
	size_t progress;    /* bytes of its progress that were read */
	unsigned busy;      /* works on other threads */
	bool dropped;
};

struct slurm {
	struct remote remote; /* first */
	const struct kettle_host *host;
	json_t *section;
	char *folder, *exec, *config;          /* exec: NULL until it was looked for */
	const char *sbatch, *squeue, *scancel; /* of the section */
	uint64_t poll_ms, queue_ms, grace_ms, command_ms, give_up_ms;
	char uid[16];
	char **environment; /* of the commands */
	struct slurm_job *jobs;
	void *by_name, *by_task;
	struct kettle_timer *tick;
	/* looks */
	bool looking;
	uint64_t looked_ms;   /* when the last good one began */
	uint64_t unlooked_ms; /* since when none was good; 0: the last one was */
	uint64_t swept_ms;
	/* the queue */
	struct slurm_query *query;
	uint64_t snapshot;                       /* the number of the newest one, which may be under way or have failed */
	uint64_t taken;                          /* the number of the newest valid one */
	uint64_t query_ms;                       /* when the next one may begin */
	uint64_t queried_ms;                     /* when the last one began */
	unsigned query_failures;                 /* in a row */
	uint64_t unlisted_ms;                    /* since when; 0: the last one worked */
	char last_stderr[SLURM_LAST_STDERR_MAX]; /* of the last one */
	/* submissions */
	struct slurm_submission *submissions, *active;
	bool submit_failed, cancel_failed; /* they were logged */
	bool cancelling;
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

/* ---- slurm_job.c: the table of jobs, and what ends them ---- */

extern const struct remote_ops slurm_remote_ops;
uint64_t slurm_now_ms(const struct slurm *slurm);
struct slurm_job *slurm_job_find(const struct slurm *slurm, const char *name);
/* Reads the folders of recovered jobs that could not be reached before. */
void slurm_job_find_again(struct slurm *slurm);
/* The job that a row of the queue is about; NULL: none of this runner. */
struct slurm_job *slurm_job_of_row(const struct slurm *slurm, const struct squeue_row *row);
/* Makes a job a task of an array; array is stolen. */
void slurm_job_set_array(struct slurm_job *job, char *array_take, size_t task);
/* Slurm has the job (id NULL: perhaps). */
void slurm_job_accepted(struct slurm_job *job, const char *id);
/* Its name in Slurm. Borrowed. */
const char *slurm_job_slurm_name(const struct slurm_job *job);
/* Removes what it has in the shared folder, but for a result, which stays in done/ for a while. */
void slurm_job_remove_files(const struct slurm_job *job);
/* Takes it out of the table and removes its files likewise; it is freed when nothing refers to it any more. */
void slurm_job_drop(struct slurm_job *job);
/* Takes it out of the table, and leaves its files to the job. */
void slurm_job_forget(struct slurm_job *job);
/* It is not in the queue any more, and has left no result. final: its last state; NULL: Slurm does not know it. */
void slurm_job_lose(struct slurm_job *job, const char *final);
/* Nothing is known of it for too long: it is lost for this reason, unless it has begun. It is queued. */
void slurm_job_give_up(struct slurm_job *job, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Runs one scancel for a job or several tasks of an array, if one is wanted and none runs. */
void slurm_job_cancel_next(struct slurm *slurm);
/* Runs work on a thread of the pool, then after; job may be NULL, and else stays until slurm_work_done in after. */
void slurm_work(struct slurm *slurm, struct slurm_job *job, kettle_fn work, kettle_fn after, void *arg);
void slurm_work_done(struct slurm *slurm, struct slurm_job *job);
/* Completes a stop when nothing is under way any more. */
void slurm_finish_stop(struct slurm *slurm);

/* ---- slurm_submit.c: sbatch ---- */

/* Begins what may begin: one submission at a time, several jobs in one where they wait anyway. */
void slurm_submit_next(struct slurm *slurm);
/* The job leaves its submission. */
void slurm_submit_leave(struct slurm_job *job);
/* A valid snapshot has come: submissions with an unknown end are settled by it. */
void slurm_submit_settle(struct slurm *slurm);
/* Those that have failed for too long are given up. */
void slurm_submit_give_up(struct slurm *slurm);
/* The controller answers again: what waits to be tried again need not wait longer. */
void slurm_submit_soon(struct slurm *slurm);
/* Frees the submissions; none is under way. */
void slurm_submit_free_all(struct slurm *slurm);
/*
 * The kettle-exec of the nodes: the section's `exec`, else the one unpacked in the shared folder under the archive's digest.
 * ENOENT: it is not there, and the sentence says what makes it. Blocks. New string.
 */
int slurm_submit_find_exec(const json_t *section, const char *folder, char **ret_exec, struct kettle_error *err);

/* ---- slurm_poll.c: squeue, and the shared folder ---- */

/* Begins to look, where there is something to look for. */
void slurm_poll_start(struct slurm *slurm);
void slurm_poll_stop(struct slurm *slurm);
/* Removes what is old in the shared folder, on a thread of the pool. */
void slurm_poll_sweep(struct slurm *slurm);
/* The next query begins at once. */
void slurm_poll_soon(struct slurm *slurm);

/* ---- slurm_status.c: the queue for operators ---- */

/* `status` of kettle/runner.h: what the next snapshot says. */
int slurm_status(void *self, remote_done done, void *arg, struct kettle_error *err);
/* Looks at those that wait. */
void slurm_status_tick(struct slurm *slurm);

/* ---- slurm_init.c: the shared folder is prepared ---- */

int slurm_init(void *self, const json_t *args, remote_done done, void *arg, struct kettle_error *err);

#endif
