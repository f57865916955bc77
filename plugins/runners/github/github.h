/* SPDX-License-Identifier: MIT */
/* Declarations that the files of the runner `github` share. All functions and callbacks on the loop thread. */
#pragma once

#include <jansson.h>
#include <kettle/host.h>
#include <kettle/option.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runners/common/download.h"
#include "runners/common/remote.h"

#define GITHUB_PLACES_MAX 32 /* workflows that a status covers */
#define GITHUB_LABEL "ubuntu-24.04"
#define GITHUB_NAME_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"

/* The workflow, and where it runs. */
struct run_place {
	const char *repo;     /* "owner/name" */
	const char *workflow; /* "kettle.yml" */
	const char *ref;      /* a branch or tag */
	const json_t *labels; /* an array of texts; NULL: only GITHUB_LABEL */
};

struct github {
	struct remote remote; /* first */
	struct api *api;      /* NULL: there is no token */
	json_t *places;       /* {KEY: {"repo", "workflow"}} of the units */
	uint64_t poll_ms;     /* the least time between two looks */
	/* of run_list.c */
	struct run_list *lists;
	uint64_t alone_at; /* when a run that its list did not show may next be looked at by id */
};

#define GITHUB_UNIT_OPTIONS 5
extern const struct kettle_option github_unit_options[GITHUB_UNIT_OPTIONS];
/* The place that a unit names; it borrows from the unit, and has labels NULL where the unit names none. EINVAL. */
int github_place_read(const json_t *unit, struct run_place *ret_place, struct kettle_error *err);
/* EUNAVAIL: there is no token. */
int github_check(struct remote *remote, struct kettle_error *err);
/* `status` of remote.h. */
void github_list_runs(struct remote_job *job);
/* EINVAL: the unit names no place. The place is remembered for the status. */
int github_check_unit(struct remote *remote, const json_t *unit, struct kettle_error *err);

/* ---- answers.c: the contents of answers of the API: all members that the runner uses are read here. [any] ---- */

#define ANSWER_LIST_MAX 100 /* entries of a page, as requests ask for */

/* A run of a workflow. Strings belong to the JSON. */
struct run_facts {
	int64_t id;
	unsigned attempt;
	const char *status;     /* "queued", "in_progress", "completed", … */
	const char *conclusion; /* "success", "failure", …; "": it has not completed */
	const char *title;      /* its name, from `run-name` of the workflow */
	const char *url;        /* a page for people; "" */
	const char *created;    /* a time */
	int64_t created_ms;     /* since 1970; 0: not readable */
	bool dispatched;        /* started by a dispatch, which needs write access to the repository */
};

/* An artifact. */
struct artifact_facts {
	int64_t id;
	uint64_t size;   /* bytes of its zip */
	char sha256[65]; /* "": GitHub gives no digest */
	bool expired;
};

/* The id of the run that a dispatch started. EIO: the answer has none. */
int answer_dispatched(const json_t *body, int64_t *ret_id, struct kettle_error *err);
/* EIO: it is not a run. */
int answer_run(const json_t *body, struct run_facts *ret_facts, struct kettle_error *err);
/* The runs of a page, at most ANSWER_LIST_MAX. Borrowed. EIO: it is no page. */
int answer_runs(const json_t *body, const json_t **ret_runs, struct kettle_error *err);
/*
 * The newest artifact with this name. ENOENT: there is none (yet); EIO: it is no list of artifacts.
 */
int answer_artifact(const json_t *body, const char *name, struct artifact_facts *ret_facts, struct kettle_error *err);
/* "2026-03-10T12:00:00Z" in ms since 1970; 0: it is no such time. */
int64_t answer_time(const char *text);

/* ---- result_zip.c: unpacks the zip of an artifact, within limits. [any, blocks] ---- */

#define RESULT_ZIP_ENTRIES 16
#define RESULT_ZIP_SMALL 1048576 /* bytes of every file except the result */
#define RESULT_ZIP_MAX 402653184 /* bytes of the zip and of the sealed result: 256 MiB in base64 and a little */

/* The files of the workflow; NULL or -1: not in the zip. Those in memory have a NUL after them. */
struct result_files {
	int result;   /* result.kettle: sealed, perhaps too large for memory; a file without a name */
	char *report; /* doctor.json */
	size_t report_size;
	char *error; /* error.txt */
	size_t error_size;
};

#define RESULT_FILES_NONE ((struct result_files){.result = -1})

void result_files_free(struct result_files *files);
/*
 * Reads a zip from a file, after checking its size and SHA-256 (64 digits; "": unknown). Ignores other files in it.
 * ECONFLICT: another size or digest; EINVAL: damaged, or no zip; ETOOBIG: too many or too large files; EIO.
 */
int result_zip_read(
	int fd, uint64_t size, const char *sha256, struct result_files *ret_files, struct kettle_error *err);

/* ---- tokens.c: tokens, and when each may send: its rate limits, on the caller's clock. [any] ---- */

#define TOKENS_MAX 64
#define TOKENS_CHANGE_MS 1000      /* between the end of one change of a token and the next, as GitHub requires */
#define TOKENS_CHANGE_MAX_MS 10000 /* for which a change without an answer makes others wait */
#define TOKENS_WAIT_MS 60000       /* after an answer that limits without a time; doubles each time */
#define TOKENS_WAIT_MAX_MS 3600000 /* GitHub's longest limit is an hour */
#define TOKENS_REFUSED_MS 600000   /* until a token that was refused is tried again */

struct token {
	char *text;
	uint64_t blocked_until, refused_until, change_at; /* ms */
	uint64_t changed_ms;                              /* when its newest change was sent */
	unsigned doublings;
	bool refused; /* by its last answer */
};

struct tokens {
	struct token *tokens;
	size_t count;
};

/* The meaning of an answer for its request. */
enum tokens_verdict {
	TOKENS_TAKEN,   /* carried out, or failed for a reason other than the token */
	TOKENS_LIMITED, /* not carried out: send later, or with another token */
	TOKENS_REFUSED, /* 401: send with another token */
	TOKENS_HIDDEN,  /* 403 or 404: this token cannot do or see it, another one may */
};

/* Reads one token a line; skips empty lines. EINVAL: none, too many, or one that cannot be in a header. */
int tokens_read(struct tokens *tokens, const char *text, struct kettle_error *err);
void tokens_free(struct tokens *tokens);
/*
 * Chooses the token that sends now: from `first` on, in a ring, the first usable one whose bit is not in `tried`.
 * Returns its number; -1: none, and *ret_at is the time at which one may send, UINT64_MAX if all were tried.
 */
int tokens_choose(
	const struct tokens *tokens, uint64_t now, bool change, size_t first, uint64_t tried, uint64_t *ret_at);
void tokens_sent(struct tokens *tokens, size_t number, bool change, uint64_t now);
/* A change sent at sent_ms has ended, with or without an answer. A later one makes others wait until its own end. */
void tokens_changed(struct tokens *tokens, size_t number, uint64_t sent_ms, uint64_t now);
/* Records an answer and returns its meaning. message: of its body, ""; wall_ms: time since 1970. */
enum tokens_verdict tokens_answered(struct tokens *tokens, size_t number, const struct kettle_http_answer *answer,
	const char *message, uint64_t now, int64_t wall_ms);
/* The number of tokens that are refused now. */
size_t tokens_refused(const struct tokens *tokens);

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
/* The number of tokens. */
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
	struct run_place place; /* it borrows from the job's unit; a status has none */
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
	/* Of a status: the workflows, the jobs found there, and how many lists were read. */
	json_t *places, *found;
	size_t lists;
};

/* The runner's operations for remote.h. */
extern const struct remote_ops runs_ops;

/* Handles the facts that a look at the run, or at its list, found. May free the run. */
void run_take_facts(struct run *run, const struct run_facts *facts);
/* GitHub has started the run, with this id. */
void run_take_id(struct run *run, int64_t id);

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

/* `write_files` of remote.h: writes the files by the args of `init` and the runner's section. EINVAL: an option. */
int setup_write(struct init *init, struct kettle_error *err);
