/* SPDX-License-Identifier: MIT */
/*
 * Jobs on a remote side that outlives the engine: what the runners github, modal and slurm have in common.
 *
 * The runner passes submit, cancel, recover, detach and stop of its table on to the functions here, and sends requests to its
 * remote side (struct remote_ops) and reports the meaning of each answer (remote_update). These functions seal the plan,
 * store the handle before anything is sent, open the result into the spool, and complete each job exactly once. By the
 * runner's struct remote_pace they decide when the next request is due, how long failures are tolerated, and which loss
 * they are. Everything on the loop thread.
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

struct remote;
struct remote_job;

typedef void (*remote_done)(void *arg, const struct kettle_error *err, json_t *answer);

enum remote_phase {
	REMOTE_PACKING,   /* the plan is being sealed, then the handle stored */
	REMOTE_SENDING,   /* ops->send was called, and the remote side may have it or not */
	REMOTE_FINDING,   /* the remote side may have it, and it is looked for by its name */
	REMOTE_SUBMITTED, /* the remote side has it */
	REMOTE_FETCHING,  /* it has ended there, and its result is fetched */
	REMOTE_OPENING,   /* its result is being opened */
	REMOTE_ORPHANED,  /* completed; what is left of it there is cancelled still */
	REMOTE_CLOSED,    /* completed or detached */
};

/*
 * What the runner does. Each may call the functions below at once; only `release` may be called after the job has ended.
 * Each of send, find, ask, fetch, cancel and give_up leads to remote_update, remote_wait, remote_result, remote_lost or
 * remote_cancelled once.
 */
struct remote_ops {
	/* Makes job->own, before any request. Whether the handle says which job it is there, so that a job that is
	 * recovered need not be looked for. */
	bool (*begin)(struct remote_job *job);
	/* The handle is stored: sends job->envelope, and calls remote_accepted where it is taken. It must not start the job twice. */
	void (*send)(struct remote_job *job);
	/* Finds the job by its name or handle: after a restart, or where it is not sure that it was sent. */
	void (*find)(struct remote_job *job);
	void (*ask)(struct remote_job *job); /* Looks at the job. */
	/* After one or more of send, find, ask and cancel, which may have left it to this to send one request for all of their
	 * jobs. NULL: there is nothing to do. */
	void (*flush)(struct remote *remote);
	/* Fetches the result, which leads to remote_result. */
	void (*fetch)(struct remote_job *job);
	/* Ends the job on the remote side, in the phases from SENDING to FETCHING and ORPHANED. */
	void (*cancel)(struct remote_job *job);
	/* Ends the request that is under way, since the job is cancelled. false: its answer is waited for first. */
	bool (*halt)(struct remote_job *job);
	/* Nothing was known of the job for too long: sees to it that it does not begin any more, and has it lost for this reason,
	 * unless it has begun. NULL: it is lost as unreached. */
	void (*give_up)(struct remote_job *job, const char *why);
	/* The job completes, and nothing is under way for it: whether it goes on as ORPHANED, since something of it may be left there.
	 * NULL: only where its cancel took too long. */
	bool (*remains)(struct remote_job *job);
	/* The job has ended or was detached: ends what the runner has under way for it (requests, timers) and frees job->own.
	 * A child that still runs must not refer to the job any more. Called once. */
	void (*release)(struct remote_job *job);
	/* Until the next look at a job. NULL: by its age. */
	uint64_t (*interval_ms)(const struct remote_job *job, uint64_t now_ms);
	/* EUNAVAIL: what the runner's section lacks. NULL: it needs nothing. */
	int (*check)(struct remote *remote, struct kettle_error *err);
	/* EINVAL: what is wrong with the unit. */
	int (*check_unit)(struct remote *remote, const json_t *unit, struct kettle_error *err);
};

/* When what fails is tried again, and for how long. */
struct remote_pace {
	uint64_t first_ms, most_ms; /* of remote_backoff_ms */
	uint64_t send_ms, quiet_ms; /* for which failures are borne, while a job is sent and later */
	unsigned
		invalid_answers; /* answers in a row that make no sense, until the job is lost; 0: they are failures like others */
	unsigned absent;     /* times in a row that the remote side does not know a job that it had, until it is lost */
	unsigned finds;      /* times that it does not know one that may have been sent, until that was not */
	bool resend;         /* such a one is sent again, as long as failures are borne, in place of being lost */
	unsigned fetches;    /* results that are fetched at a time; 0: any number */
};

/* The status of a job, as the remote side says it. */
enum remote_status {
	REMOTE_NO_ANSWER, /* nothing, or "not now" */
	REMOTE_INVALID,   /* what makes no sense */
	REMOTE_DENIED,    /* it does not take the credentials: the operator mends that, however long it takes */
	REMOTE_UNCERTAIN, /* of `send`: it may have taken it */
	REMOTE_ABSENT,    /* it does not have the job, or has ended it after `cancel`; the sentence is that of the loss */
	REMOTE_PENDING,   /* it has not ended; of `find`: it may still appear */
	REMOTE_RUNNING,
	REMOTE_ENDED, /* its result is there, or the reason why there is none */
	REMOTE_RAN,   /* likewise, and it has run */
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
	char *envelope; /* the sealed plan, until remote_accepted; NULL for a recovered job */
	size_t envelope_size;
	char *run;            /* the runner's: what the result must have been made by (--run); NULL: anything. New string */
	void *own;            /* the runner's */
	uint64_t deadline_ms; /* of the plan, for build and run together */
	uint64_t most_ms;     /* the runner's: for which it may run there, until it is lost; 0: for any time */
	enum remote_phase phase;
	bool running;   /* remote_running was called */
	bool cancelled; /* its result does not matter any more */
	/* of common */
	bool detached;
	unsigned busy;   /* answers that are under way */
	unsigned unread; /* times that its result could not be read */
	struct kettle_timer *limit;
	bool awaiting;           /* an answer of the remote side is awaited */
	bool fetching;           /* likewise, to ops->fetch */
	uint64_t due;            /* ms: when the next request is sent; UINT64_MAX: not before an answer */
	uint64_t since, failing; /* ms: since when it waits or runs there; since when all fails (0: it does not) */
	unsigned failures, invalid_answers, absent; /* in a row */
	remote_done report;                         /* of a doctor, which is a job without a plan; NULL: it is a job */
	void *report_arg;
	unsigned char key[SEALED_KEY_SIZE]; /* the attempt's */
};

/* The jobs of one runner. */
struct remote {
	const struct kettle_host *host;
	const struct remote_ops *ops;
	const char *side;        /* the remote side's name in sentences: "GitHub" */
	void *self;              /* the plugin's own */
	struct remote_job *jobs; /* doctors among them */
	size_t count;            /* of jobs that have not ended */
	struct remote_pace pace; /* the runner's */
	/* of common */
	void *by_ref, *by_name;
	struct kettle_timer *timer; /* to the next request */
	uint64_t timer_at;
	unsigned fetches; /* that are under way */
	struct remote_inquiry *inquiries;
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

/* Where ops->check finds that the runner can run nothing, the job is lost until the operator has mended that. */
int remote_submit(void *self, const struct kettle_job *description, const json_t *plan, struct kettle_error *err);
void remote_cancel(void *self, const char *ref);
/* ENOENT: the handle is not of this kind, or of another name than the job's. */
int remote_recover(void *self, const struct kettle_job *description, const char *handle, struct kettle_error *err);
void remote_detach(void *self, const char *ref);
/* Sends a job without a plan by ops->send, whose end is remote_report. */
int remote_doctor(void *self, const json_t *unit, remote_done done, void *arg, struct kettle_error *err);
/* EUNAVAIL: what ops->check says, and whether there is no key. */
int remote_check(void *self, struct kettle_error *err);
/* `slots` (1 to 10,000, default 1) and `prefetch` (0 to 10,000, default 0) of the unit. */
int remote_capacity(
	void *self, const json_t *unit, unsigned *ret_slots, unsigned *ret_prefetch, struct kettle_error *err);

/* ---- what the remote side says; without effect for a job that has ended ---- */

/* The job of this reference; NULL: there is none, or it has ended. */
struct remote_job *remote_find(const struct remote *remote, const char *ref);
/* The job, doctor or one that is ORPHANED of this name; NULL: there is none. */
struct remote_job *remote_find_name(const struct remote *remote, const char *name);
/* Calls fn for each job and doctor; each call may end any of them. */
void remote_each(struct remote *remote, void (*fn)(struct remote_job *job, void *arg), void *arg);
/* Stores job->handle as it is now, beside what goes on. */
void remote_store(struct remote_job *job);
/*
 * The answer to the request that ops wanted; one that is awaited no more has no effect. why: a sentence, or NULL; of a job that
 * runs: why nothing newer is known of it.
 */
void remote_update(struct remote_job *job, enum remote_status status, const char *why);
/* Likewise, of one that was not sent: ops is called again at that time. */
void remote_wait(struct remote_job *job, uint64_t at_ms);
/* A request goes out that is about the job, too: its answer is awaited. */
void remote_await(struct remote_job *job);
/* The remote side has accepted it. The envelope is freed. */
void remote_accepted(struct remote_job *job);
/* It runs; before, the engine takes it as waiting. Only the first call counts. */
void remote_running(struct remote_job *job);
/* An event of kettle-exec's --progress, such as {"event": "step", "step", "state"}; what is no such event is dropped. */
void remote_progress(struct remote_job *job, const json_t *event);
/* The sealed result of the job, in either form, in a file that only this process can change. Takes over fd; reads it in the pool. */
void remote_result(struct remote_job *job, int fd_take);
/*
 * Likewise, in a file that other machines can change. Where it cannot be read, as of a server of files that is away for a
 * moment, the job is SUBMITTED again; after REMOTE_READS times it is lost.
 */
void remote_result_file(struct remote_job *job, const char *path);
/* There will be no result. The sentence says what happened there. */
void remote_lost(struct remote_job *job, enum kettle_loss loss, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* The remote side has ended it after ops->cancel. */
void remote_cancelled(struct remote_job *job);
/* A doctor's report, or the sentence of why there is none. */
void remote_report(struct remote_job *job, json_t *report, const char *why);

/* ---- the status ---- */

/* One that is under way. */
struct remote_inquiry {
	struct remote_inquiry *next;
	struct remote *remote;
	remote_done done;
	void *arg;
	void *own;                  /* the runner's */
	void (*release)(void *own); /* ends and frees that */
};

/* Where the remote side of a runner stops, it is answered with ECANCELED. */
struct remote_inquiry *remote_inquire(
	struct remote *remote, remote_done done, void *arg, void *own, void (*release)(void *own));
/* Answers it, once; answer NULL: with this sentence. */
void remote_answer(struct remote_inquiry *inquiry, json_t *answer, const char *why);
/* The jobs, as a status lists them; where: new text on the place of a job there, or NULL. New reference. */
json_t *remote_list(const struct remote *remote, char *(*where)(const struct remote_job *job));

/* ---- for all runners of remote machines ---- */

/*
 * A URL without slashes at its end, to which credentials may be sent: https, or http to this machine itself, since others could
 * read them on the way; without user, query and fragment. New string; NULL: it is none.
 */
char *remote_url(const char *text);

/* How long to wait after so many failures in a row (1: the first): a random part of a time that doubles from first_ms to most_ms. */
uint64_t remote_backoff_ms(unsigned failures, uint64_t first_ms, uint64_t most_ms);

#endif
