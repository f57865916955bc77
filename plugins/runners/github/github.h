/* SPDX-License-Identifier: MIT */
/* Declarations that the files of the runner `github` share. All functions and callbacks on the loop thread. */
#ifndef KETTLE_GITHUB_GITHUB_H
#define KETTLE_GITHUB_GITHUB_H

#include "runners/common/download.h"
#include "runners/common/init_files.h"
#include "runners/common/remote.h"
#include "runners/github/answers.h"

#define GITHUB_PLACES_MAX 32 /* workflows that a status covers */
#define GITHUB_LABEL "ubuntu-24.04"
#define GITHUB_NAME_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"

/* Which workflow, and where it runs. */
struct run_place {
	const char *repo;     /* "owner/name" */
	const char *workflow; /* "kettle.yml" */
	const char *ref;      /* a branch or tag */
	const json_t *labels; /* an array of texts; NULL: only GITHUB_LABEL */
};

struct github {
	struct remote remote; /* first */
	const struct kettle_host *host;
	json_t *section;  /* the parts that `init` needs */
	struct api *api;  /* NULL: there is no token */
	json_t *places;   /* {KEY: {"repo", "workflow"}} of the units */
	uint64_t poll_ms; /* the least time between two looks */
	/* of run_list.c */
	struct run_list *lists;
	uint64_t alone_at; /* when a run that its list did not show may next be looked at by id */
	kettle_fn stopped; /* NULL: not stopping */
	void *stopped_arg;
};

/* The place that a unit names; it borrows from the unit, and has labels NULL where the unit names none. EINVAL. */
int github_place_read(const json_t *unit, struct run_place *ret_place, struct kettle_error *err);
/* EUNAVAIL: there is no token. */
int github_check(struct remote *remote, struct kettle_error *err);
/* EINVAL: the unit names no place. The place is remembered for the status. */
int github_check_unit(struct remote *remote, const json_t *unit, struct kettle_error *err);

/* ---- api.c: calls of GitHub's API ---- */

/*
 * A request that GitHub limits (403, 429) was not carried out: it waits and is sent again, or is sent with another
 * token. A request that a token may not do or see is tried with the others. Everything else is left to the caller: a
 * request that changes something is never repeated if it may have been carried out.
 */

#define API_BODY_MAX 524288    /* bytes of an answer */
#define API_LIST_MAX 4194304   /* bytes of a page of a list of runs */
#define API_VALUES_MAX 200000  /* values in an answer, to limit the memory of parsing */
#define API_PARSE_INLINE 65536 /* bytes of an answer that are parsed on the loop */
#define API_CONNECT_MS 10000
#define API_TOTAL_MS 30000

struct api;
struct api_call; /* opaque; valid until its done is called, or api_cancel */

/* Borrowed for the callback. */
struct api_answer {
	int status;
	json_t *body;         /* an object; NULL: the answer has none, as for 202, 204, 302, 304 and errors */
	const char *etag;     /* or NULL */
	const char *location; /* or NULL */
	const char *message;  /* of an error, one clean line; "" */
	size_t token;         /* that sent it, for the next request of the same run: each token has its own ETags */
};

/*
 * err->code is 0 and answer is set, or err says what failed: EUNAVAIL, EIO, ETOOBIG; EACCES: GitHub accepts no token,
 * EINVAL: it could not be sent. In the last two cases GitHub has done nothing.
 */
typedef void (*api_fn)(void *arg, const struct kettle_error *err, const struct api_answer *answer);

/* Strings and JSON are borrowed for the call. */
struct api_request {
	const char *method; /* NULL: GET */
	const char *path;   /* below the API's URL, "/repos/…" */
	const json_t *body; /* or NULL */
	const char *etag;   /* for If-None-Match, or NULL */
	size_t max_body;    /* 0: API_BODY_MAX */
	size_t token;
	bool urgent; /* before all waiting calls */
	api_fn done;
	void *arg;
};

/* From the runner's section, which has a `token`; most_ms: for one request, if less than API_TOTAL_MS. EINVAL. */
int api_new(const struct kettle_host *host, const json_t *section, uint64_t most_ms, struct api **ret_api,
	struct kettle_error *err);
/* Ends all calls without calling back. Calls may be sent again. */
void api_stop(struct api *api);
/* api_stop, then frees. NULL is allowed. */
void api_free(struct api *api);
/* Never calls back before it returns. */
struct api_call *api_send(struct api *api, const struct api_request *request);
/* Ends a call without calling back. */
void api_cancel(struct api_call *call);
/* Whether a call may have reached GitHub by now. */
bool api_was_sent(const struct api_call *call);
/* How many tokens there are. */
size_t api_tokens(const struct api *api);
/* Whether URLs of other hosts must be https, since the API's is. */
bool api_is_secure(const struct api *api);
/* Passes err on. Without one, an answer other than 200 is EUNAVAIL: "GitHub answered WHAT with status 422: MESSAGE". */
int api_check(
	const struct kettle_error *err, const struct api_answer *answer, const char *what, struct kettle_error *ret_why);
int api_fail(const struct api_answer *answer, const char *what, struct kettle_error *err);

/* ---- runs.c: runs of a workflow, each of which is a job or a doctor ---- */

#define RUNS_SINGLE_MAX 20 /* runs in flight that are polled by id; more are polled by their list */
/* For each run in flight, between two looks at it: 550 of 900 points a minute; a change costs 5. */
#define RUNS_POINTS_MS 110
#define RUNS_PAGE_MS 1500     /* for each page of a list: 2,400 of the 5,000 requests an hour */
#define RUNS_PAGE_MIN_MS 500  /* likewise, for any number of tokens: a page of more than a megabyte must be parsed */
#define RUNS_PAGES_MAX 30     /* of a list */
#define RUNS_SEEK_LOOKS 5     /* until a run that was not seen counts as never dispatched; poll_ms apart, doubling */
#define RUNS_MISSING 6        /* answers in a row that a run is unknown, as GitHub may say at first */
#define RUNS_BACKOFF_MS 60000 /* the longest wait after faults */
#define RUNS_CLOCK_MS 600000  /* the greatest difference between GitHub's clock and this machine's */
#define RUNS_FORCE_MS 8000    /* after a cancel, until a forced one */

/* A job's own data. */
struct run {
	struct remote_job *job; /* NULL: released while its plan is published */
	struct github *github;
	struct run_place place; /* it borrows from the job's unit */
	int64_t id;             /* 0: not known */
	unsigned attempt;
	char conclusion[32];
	char *etag;
	size_t token;
	bool publishing;
	uint64_t publish_until;
	bool accepted;          /* GitHub took the dispatch without telling the id */
	uint64_t sought_since;  /* ms; 0: no round has covered it */
	struct run_list *round; /* the round that awaits it; NULL: none */
	bool alone;             /* a round did not see it, so it is looked at by id */
	struct api_call *call;
	uint64_t cancel_at, cancelled_at; /* of the next request to cancel; of the first accepted one (0: none) */
	bool forced;
	/* Its artifact. */
	struct artifact_facts artifact;
	struct download file;
	uint64_t download; /* of host->http; 0: none */
	struct unpacking *unpacking;
	unsigned looks, tries; /* looks at the list of artifacts; downloads with wrong bytes */
};

/* The runner's operations for remote.h. */
extern const struct remote_ops runs_ops;

/* Handles the facts that a look at the run, or at its list, found. May free the run. */
void run_take_facts(struct run *run, const struct run_facts *facts);
/* GitHub has started the run, with this id. */
void run_take_id(struct run *run, int64_t id);
uint64_t runs_now_ms(const struct github *github);

/* ---- run_list.c: looking at runs by the list of their workflow ---- */

/* Has the list of its workflow look at the run: now, or when its next round is due. */
void run_list_join(struct run *run);
/* The time between two looks at a run by its list. */
uint64_t run_list_interval_ms(const struct run *run);
/* Whether runs are looked at by their lists, not by id. */
bool run_lists_used(const struct github *github);
void run_lists_free(struct github *github);

/* ---- setup.c: `kettle runner init github` ---- */

#define SETUP_ARCHIVE ".github/kettle/kettle-exec.tar.xz"

/* The template of the workflow. setup_write fills in the words @MINUTES@, @URL@ and @SHA256@. */
extern const char github_workflow_text[];

/* For init_run: writes the files by the args of `init` and the runner's section. EINVAL: an option. */
int setup_write(struct init *init, struct kettle_error *err);

#endif
