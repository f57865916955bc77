/* SPDX-License-Identifier: MIT */
/*
 * Jobs on a remote side that outlives the engine: what the runners github, modal and slurm have in common.
 *
 * The runner passes submit, cancel, recover, detach and stop of its table on to the functions here, and says what its
 * remote side does by those below "what the remote side says". Here the plan is sealed, the handle stored before anything
 * is sent, the result opened into the spool, and each job completed exactly once. Everything on the loop thread.
 */
#ifndef KETTLE_RUNNERS_COMMON_REMOTE_H
#define KETTLE_RUNNERS_COMMON_REMOTE_H

#include <jansson.h>
#include <kettle/host.h>
#include <kettle/option.h>
#include <kettle/runner.h>
#include <stdbool.h>

#include "sealed/sealed.h"

#define REMOTE_CANCEL_MS 20000 /* after this a cancelled job is completed, whatever its remote side says */
#define REMOTE_STOP_MS 10000   /* likewise when the runner stops */
#define REMOTE_READS 20        /* of a result's file, until it counts as one that cannot be read */

struct remote_job;

enum remote_phase {
	REMOTE_PACKING, /* the plan is being sealed, then the handle stored */
	REMOTE_SENDING, /* ops->send was called, and the remote side may have it or not */
	REMOTE_AWAY,    /* the remote side has it, or ops->find looks for it */
	REMOTE_OPENING, /* its result is being opened */
	REMOTE_ENDED,   /* completed or detached */
};

/* What the runner does. Each may call the functions below at once; only `release` may be called after the job has ended. */
struct remote_ops {
	/* The handle is stored: sends job->envelope. It leads to remote_sent, remote_result or remote_lost; what may pass is tried
	 * again by the runner. It must not start the job twice. */
	void (*send)(struct remote_job *job);
	/* After a restart: finds the job again by job->handle. It leads to remote_result or remote_lost. */
	void (*find)(struct remote_job *job);
	/* Ends the job on the remote side, in the phases SENDING and AWAY. It leads to remote_cancelled, or to a result. */
	void (*cancel)(struct remote_job *job);
	/* The job has ended or was detached: ends what the runner has under way for it (requests, timers) and frees job->own.
	 * A child that still runs must not refer to the job any more. Called once. */
	void (*release)(struct remote_job *job);
};

/* One attempt. What the runner may change is said there. */
struct remote_job {
	struct remote *remote;
	struct remote_job *next; /* of remote->jobs */
	char *ref, *name, *device;
	char *spool; /* NULL: no artifacts are kept */
	char plan_hash[65];
	json_t *unit; /* its section */
	/* {"name": …, "at": ms since 1970, before anything is sent}; the runner adds what it needs to find the job again,
	 * and calls remote_store */
	json_t *handle;
	char *envelope; /* the sealed plan, until remote_sent; NULL for a recovered job */
	size_t envelope_size;
	char *run;            /* the runner's: what the result must have been made by (--run); NULL: anything. New string */
	void *own;            /* the runner's */
	uint64_t deadline_ms; /* of the plan, for build and run together */
	enum remote_phase phase;
	bool running;   /* remote_running was called */
	bool cancelled; /* its result does not matter any more */
	/* of remote.c */
	bool detached;
	unsigned busy;   /* answers that are under way */
	unsigned unread; /* times that its result could not be read */
	struct kettle_timer *limit;
	unsigned char key[SEALED_KEY_SIZE]; /* the attempt's */
};

/* The jobs of one runner. */
struct remote {
	const struct kettle_host *host;
	const struct remote_ops *ops;
	const char *side; /* the remote side's name in sentences: "GitHub" */
	void *self;       /* the plugin's own */
	struct remote_job *jobs;
	size_t count;
	/* of remote.c */
	void *by_ref;
	bool has_key, stopping, finished;
	unsigned char key[SEALED_KEY_SIZE];
	struct kettle_timer *stop_timer;
	kettle_fn stopped;
	void *stopped_arg;
};

/* Options of every runner that seals, for its table: the key is in its section as `key`. */
#define REMOTE_OPTIONS \
	{.key = "key_env", \
		.type = KETTLE_OPTION_STRING, \
		.help = "The environment variable with the key that seals plans and results: 32 random bytes in base64."}, \
	{ \
		.key = "key_file", .type = KETTLE_OPTION_PATH, .help = "The file with the key, in place of `key_env`." \
	}

/* ---- the plugin's life ---- */

/* In create. The strings and ops must stay. */
void remote_init(
	struct remote *remote, const struct kettle_host *host, const struct remote_ops *ops, const char *side, void *self);
/* In configure: takes the key of the section. EINVAL: it is no key. Without one its units are unusable. */
int remote_configure(struct remote *remote, const json_t *section, struct kettle_error *err);
/* In stop: cancels the jobs that are left (those with a handle are detached before), and calls done when none is. */
void remote_stop(struct remote *remote, kettle_fn done, void *arg);
/* In destroy. */
void remote_close(struct remote *remote);

/* ---- the plugin's table: those with `self` are its functions, where a struct remote is the first member of self ---- */

int remote_start(void *self, struct kettle_error *err);

int remote_submit(
	struct remote *remote, const struct kettle_job *description, const json_t *plan, struct kettle_error *err);
/* In the submit of a runner that can run nothing, which then returns 0: the sentence says what its configuration lacks. */
void remote_refuse(const struct remote *remote, const struct kettle_job *description, const char *why);
void remote_cancel(void *self, const char *ref);
/* ENOENT: the handle is not of this kind, or of another name than the job's. */
int remote_recover(
	struct remote *remote, const struct kettle_job *description, const char *handle, struct kettle_error *err);
void remote_detach(void *self, const char *ref);
/* `slots` (1 to 10,000, default 1) and `prefetch` (0 to 10,000, default 0) of the unit. */
int remote_capacity(const json_t *unit, unsigned *ret_slots, unsigned *ret_prefetch, struct kettle_error *err);

/* ---- what the remote side says; without effect for a job that has ended ---- */

/* The job of this reference; NULL: there is none, or it has ended. */
struct remote_job *remote_find(const struct remote *remote, const char *ref);
/* Stores job->handle as it is now, beside what goes on. */
void remote_store(struct remote_job *job);
/* The remote side has accepted it. The envelope is freed. */
void remote_sent(struct remote_job *job);
/* It runs; before, the engine takes it as waiting. Only the first call counts. */
void remote_running(struct remote_job *job);
/* An event of kettle-exec's --progress, such as {"event": "step", "step", "state"}; what is no such event is dropped. */
void remote_progress(struct remote_job *job, const json_t *event);
/* The sealed result of the job, in either form, in a file that only this process can change. Takes over fd; reads it in the pool. */
void remote_result(struct remote_job *job, int fd_take);
/*
 * Likewise, in a file that other machines can change. Where it cannot be read, as of a server of files that is away for a
 * moment, the job is AWAY again, and the runner says once more that there is a result; after REMOTE_READS times it is lost.
 */
void remote_result_file(struct remote_job *job, const char *path);
/* There will be no result. The sentence says what happened there. */
void remote_lost(struct remote_job *job, enum kettle_loss loss, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* The remote side has ended it after ops->cancel. */
void remote_cancelled(struct remote_job *job);

/* ---- for all runners of remote machines ---- */

/* How long to wait after so many failures in a row (1: the first): a random part of a time that doubles from first_ms to most_ms. */
uint64_t remote_backoff_ms(unsigned failures, uint64_t first_ms, uint64_t most_ms);

#endif
