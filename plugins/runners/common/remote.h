/* SPDX-License-Identifier: MIT */
/*
 * Jobs on a remote side that outlives the engine: the code that the runners github, modal and slurm share.
 *
 * The runner has these functions in its table, sends requests to its remote side (struct remote_ops) and reports the
 * meaning of each answer (remote_update). The code here seals the plan, stores the handle before anything is sent,
 * opens the result into the spool, and completes each job exactly once. By struct remote_pace it decides when the next
 * request is due, how long failures are tolerated, and which loss they are. Everything on the loop thread.
 */
#pragma once

#include <jansson.h>
#include <kettle/host.h>
#include <kettle/runner.h>
#include <stdbool.h>

#include "runners/common/init_files.h"
#include "sealed/sealed.h"

#define REMOTE_CANCEL_MS 20000 /* after this a cancelled job is completed, whatever the remote side answers */
#define REMOTE_STOP_MS 10000   /* likewise when the runner stops */
#define REMOTE_READS 20        /* tries to read a result's file, until it counts as unreadable */

struct remote;
struct remote_job;

enum remote_phase {
	REMOTE_PACKING,   /* the plan is being sealed, then the handle stored */
	REMOTE_SENDING,   /* ops->send was called; the remote side may have the job */
	REMOTE_FINDING,   /* the remote side may have the job; it is looked for by name */
	REMOTE_SUBMITTED, /* the remote side has the job */
	REMOTE_FETCHING,  /* the job has ended there; its result is being fetched */
	REMOTE_OPENING,   /* its result is being opened */
	REMOTE_ORPHANED,  /* completed; what is left of it there is being cancelled */
	REMOTE_CLOSED,    /* completed or detached */
};

/*
 * The runner's operations. Each may call the functions below at once; only `release` may be called after the job has
 * ended. Each of send, find, ask, fetch, cancel and give_up leads to one call of remote_update, remote_wait,
 * remote_result, remote_lost or remote_cancelled.
 */
struct remote_ops {
	/* Makes job->own, before any request. Returns whether the handle says where the job is: it need not be found. */
	bool (*begin)(struct remote_job *job);
	/* The handle is stored: sends job->envelope, and calls remote_accepted if it is taken. Must not start it twice. */
	void (*send)(struct remote_job *job);
	/* Finds the job by its name or handle: after a restart, or if it is not certain that the job was sent. */
	void (*find)(struct remote_job *job);
	void (*ask)(struct remote_job *job); /* asks for the job's state */
	/* Called after one or more of send, find, ask and cancel, to send one request for all jobs. NULL: none. */
	void (*flush)(struct remote *remote);
	void (*fetch)(struct remote_job *job);
	/* Ends the job on the remote side, in the phases from SENDING to FETCHING and ORPHANED. */
	void (*cancel)(struct remote_job *job);
	/* Ends the request that is under way, since the job is cancelled. false: it waits for the answer. NULL: nothing to end. */
	bool (*halt)(struct remote_job *job);
	/* The state was unknown for too long: loses the job unless it has begun. NULL: it is lost as unreached. */
	void (*give_up)(struct remote_job *job, const char *why);
	/* The job completes: whether something of it may be left there, so that it continues as ORPHANED. NULL: no. */
	bool (*remains)(struct remote_job *job);
	/*
	 * The job, or its part on the remote side, has ended or was detached: ends all that refers to it, and frees
	 * job->own. Called once for each part.
	 */
	void (*release)(struct remote_job *job);
	/* Makes a status: called until remote_report, for a job without a plan and a unit. */
	void (*status)(struct remote_job *job);
	/* Time until the next request for a job's state. NULL: depends on its age. */
	uint64_t (*interval_ms)(const struct remote_job *job, uint64_t now_ms);
	/*
	 * The runner stops and no job is left: ends everything else. false: something is under way, after which the runner
	 * calls remote_stopped. NULL: there is nothing else.
	 */
	bool (*end)(struct remote *remote);
	/* EUNAVAIL: the runner's section lacks something. NULL: the runner needs nothing. */
	int (*check)(struct remote *remote, struct kettle_error *err);
	/* EINVAL: the unit is wrong; also for that of the first part, which has the options of `build` (remote_parts.c). */
	int (*check_unit)(struct remote *remote, const json_t *unit, struct kettle_error *err);
	/* Writes the files of `runner init` (init_files.h), on a thread of the pool. NULL: the table has its own `init`. */
	int (*write_files)(struct init *init, struct kettle_error *err);
	/* The options of a unit, with BUILD_OPTION where jobs can be built in another place. */
	const struct kettle_option *unit_options;
	size_t unit_options_count;
};

/* When failed requests are repeated, and for how long. */
struct remote_pace {
	uint64_t first_ms, most_ms; /* of remote_backoff_ms */
	uint64_t send_ms, quiet_ms; /* for how long failures are tolerated while a job is sent, and later */
	unsigned invalid_answers;   /* in a row, after which the job is lost; 0: they are failures like others */
	unsigned absent;            /* answers in a row that a job is unknown, after which it is lost */
	unsigned finds;             /* such answers for a job that may have been sent, after which it was not sent */
	bool resend;      /* a job that was not sent is sent again while failures are tolerated; false: it is lost */
	unsigned fetches; /* results that are fetched at a time; 0: any number */
};

/* A job's state, by an answer of the remote side. */
enum remote_status {
	REMOTE_NO_ANSWER, /* nothing, or "not now" */
	REMOTE_INVALID,   /* an answer without meaning */
	REMOTE_DENIED,    /* the credentials are refused, until the operator mends that */
	REMOTE_UNCERTAIN, /* of `send`: the remote side may have the job */
	REMOTE_ABSENT,    /* it does not have the job, or ended it after `cancel`; `why` becomes the sentence of the loss */
	REMOTE_PENDING,   /* the job has not ended; of `find`: it may still appear */
	REMOTE_RUNNING,
	REMOTE_ENDED, /* it has a result, or a reason for having none */
	REMOTE_RAN,   /* likewise, and the job has run */
};

/* One attempt. Members that the runner may change say so. */
struct remote_job {
	struct remote *remote;
	struct remote_job *next; /* of remote->jobs */
	char *ref, *name;        /* name: of its part that is under way, if it has two */
	char *spool;             /* NULL: artifacts are not kept */
	char plan_hash[65];
	json_t *unit; /* its section */
	/*
	 * {"name", "at": ms since 1970, before it is sent; of a first part "build": the options of its place}. The runner
	 * adds to it and calls remote_store.
	 */
	json_t *handle;
	char *envelope; /* the sealed plan, until remote_accepted; NULL: recovered job */
	size_t envelope_size;
	char *whole; /* of a second part: the same without what the first part has built; NULL: none */
	size_t whole_size;
	char *run;            /* set by the runner: the run that must have made the result (--run); NULL: any. New string */
	void *own;            /* the runner's data */
	uint64_t deadline_ms; /* of the plan, for build and run together */
	uint64_t most_ms;     /* set by the runner: ms it may run before it is lost; 0: no limit */
	enum remote_phase phase;
	bool running;   /* remote_running was called */
	bool cancelled; /* its result no longer matters */
	/* for the shared code only */
	bool detached;
	enum { REMOTE_WHOLE, REMOTE_FIRST, REMOTE_SECOND } part; /* remote_parts.c */
	unsigned busy;                                           /* holds that prevent freeing it */
	unsigned unread;                                         /* failed tries to read its result */
	struct kettle_timer *limit;
	bool awaiting;           /* an answer of the remote side is awaited */
	bool fetching;           /* likewise, to ops->fetch */
	uint64_t due;            /* ms: time of the next request; UINT64_MAX: after the answer */
	uint64_t since, failing; /* ms: start of its waiting or running; of failures in a row (0: none) */
	unsigned failures, invalid_answers, absent; /* in a row */
	kettle_answer report; /* NULL: a job; else a doctor or a status, which are jobs without a plan */
	bool is_status;
	void *report_arg;
	unsigned char key[SEALED_KEY_SIZE], second_key[SEALED_KEY_SIZE]; /* of its name; of a first part, the second's */
};

/* The jobs of one runner. */
struct remote {
	const struct kettle_host *host;
	const struct remote_ops *ops;
	const char *side;        /* the remote side's name in sentences: "GitHub" */
	void *self;              /* the plugin's data */
	struct remote_job *jobs; /* doctors and statuses among them */
	size_t count;            /* of jobs that have not ended */
	struct remote_pace pace; /* set by the runner */
	bool stopping, ended;    /* ops->end was called */
	/* for the shared code only */
	json_t *init_section; /* the part of the section that `init` needs */
	void *by_ref, *by_name;
	struct kettle_timer *timer; /* to the next request */
	uint64_t timer_at;
	unsigned fetches; /* requests under way */
	bool has_key;
	bool finished; /* no job is left */
	unsigned char key[SEALED_KEY_SIZE];
	struct kettle_timer *stop_timer;
	kettle_fn stopped;
	void *stopped_arg;
};

/* ---- the plugin's life ---- */

/* For `create`. The strings and ops must stay valid. */
void remote_init(
	struct remote *remote, const struct kettle_host *host, const struct remote_ops *ops, const char *side, void *self);
/* For `configure`: takes the key of the section. EINVAL: it is no key. Without a key the units are unusable. */
int remote_configure(struct remote *remote, const json_t *section, struct kettle_error *err);
/* For `destroy`. */
void remote_close(struct remote *remote);

/* ---- the plugin's table; functions with `self` are its entries: a struct remote is the first member of self ---- */

int remote_start(void *self, struct kettle_error *err);
/* Cancels the jobs that are left (jobs with a handle are detached before), and calls done when there are none. */
void remote_stop(void *self, kettle_fn done, void *arg);

/* If ops->check fails, the runner can run nothing: the job is lost as misconfigured, until the operator mends that. */
int remote_submit(void *self, const struct kettle_job *description, const json_t *plan, struct kettle_error *err);
void remote_cancel(void *self, const char *ref);
/* ENOENT: the handle has another form, or another job's name. */
int remote_recover(void *self, const struct kettle_job *description, const char *handle, struct kettle_error *err);
void remote_detach(void *self, const char *ref);
/* Sends a job without a plan by ops->send; it ends with remote_report. */
int remote_doctor(void *self, const json_t *unit, kettle_answer done, void *arg, struct kettle_error *err);
/* Makes a status by ops->status; it ends with remote_report. */
int remote_status(void *self, kettle_answer done, void *arg, struct kettle_error *err);
/* EUNAVAIL: ops->check fails, or there is no key; the message says both. */
int remote_check(void *self, struct kettle_error *err);
/* `init` by ops->write_files, whose section has only `exec_archive`. */
int remote_run_init(void *self, const json_t *args, kettle_answer done, void *arg, struct kettle_error *err);
/* `slots` (1 to 10,000, default 1) and `prefetch` (0 to 10,000, default 0) of the unit. */
int remote_capacity(
	void *self, const json_t *unit, unsigned *ret_slots, unsigned *ret_prefetch, struct kettle_error *err);

/* Members of the runner's table; slurm has its own submit and check. */
#define REMOTE_RUNNER(unit_options) \
	.size = sizeof(struct kettle_runner), .capacity = remote_capacity, .cancel = remote_cancel, \
	.recover = remote_recover, .detach = remote_detach, .doctor = remote_doctor, KETTLE_UNIT_OPTIONS(unit_options)

/* ---- answers of the remote side; without effect for a job that has ended ---- */

/* The job of this reference; NULL: there is none, or it has ended. */
struct remote_job *remote_find(const struct remote *remote, const char *ref);
/* The job of this name: also a doctor or an ORPHANED job; NULL: there is none. */
struct remote_job *remote_find_name(const struct remote *remote, const char *name);
/* Completes the stop after ops->end has returned false. */
void remote_stopped(struct remote *remote);
/* Calls fn for each job and doctor; each call may end any of them. */
void remote_each(struct remote *remote, void (*fn)(struct remote_job *job, void *arg), void *arg);
/* Stores job->handle as it is now, while the job goes on. */
void remote_store(struct remote_job *job);
/* Reports the answer to an operation. why: a sentence, or NULL; for a job that runs: why nothing newer is known. */
void remote_update(struct remote_job *job, enum remote_status status, const char *why);
/* Says that no request was sent: the operation is called again at that time. */
void remote_wait(struct remote_job *job, uint64_t at_ms);
/* Says that a request under way is about this job, too: the job awaits its answer. */
void remote_await(struct remote_job *job);
/*
 * The envelope is too large to be sent: sends that without what the first part has built. false: it has none, and the
 * job cannot be sent.
 */
bool remote_send_whole(struct remote_job *job);
/* The remote side has accepted the job. Frees the envelope. */
void remote_accepted(struct remote_job *job);
/* The job runs; until this call the engine shows it as waiting. Only the first call counts. */
void remote_running(struct remote_job *job);
/* Passes on an event of kettle-exec's --progress, such as {"event": "step", "step", "state"}; drops anything else. */
void remote_progress(struct remote_job *job, const json_t *event);
/*
 * Opens the sealed result of the job on a thread of the pool: the file fd, which only this process can change and which
 * is taken over, or (path, fd -1) a file that other machines can change: until REMOTE_READS tries failed, the job is
 * SUBMITTED again.
 */
void remote_result(struct remote_job *job, int fd_take, const char *path);
/* There will be no result. The sentence says why. */
void remote_lost(struct remote_job *job, enum kettle_loss loss, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* The remote side has ended the job after ops->cancel. */
void remote_cancelled(struct remote_job *job);
/* Ends a doctor or a status with its report, or NULL and a sentence. */
void remote_report(struct remote_job *job, json_t *report, const char *why);

/* The jobs as a status lists them; where: returns the place of a job there, new text or NULL. New reference. */
json_t *remote_list(const struct remote *remote, char *(*where)(const struct remote_job *job));

/* ---- for all runners ---- */

/* Reads `slots` (1 to most, default 1) and `prefetch` (0 to most) of a unit. EINVAL. [any] */
int unit_capacity(const json_t *unit, int most, unsigned prefetch_default, unsigned *ret_slots, unsigned *ret_prefetch,
	struct kettle_error *err);

/* The host's monotonic clock, in ms, which all times of jobs are in. */
uint64_t remote_now_ms(const struct remote *remote);

/*
 * A URL that may receive credentials, without slashes at its end: https, or http to this machine; without user, query
 * and fragment. New string; NULL: not such a URL.
 */
char *remote_url(const char *text);

/* Time to wait after a number of failures in a row: a random part of a time that doubles from first_ms to most_ms. */
uint64_t remote_backoff_ms(unsigned failures, uint64_t first_ms, uint64_t most_ms);
