/* SPDX-License-Identifier: MIT */
/*
 * Calls of GitHub's API: which token sends, when it may, and the answer, limited in size and parsed. All functions and
 * callbacks on the loop thread.
 *
 * A request that GitHub limits (403, 429) was not carried out: it waits and is sent again, or is sent with another
 * token. A request that a token may not do or see is tried with the others. Everything else is left to the caller: a
 * request that changes something is never repeated if it may have been carried out.
 */
#ifndef KETTLE_GITHUB_API_H
#define KETTLE_GITHUB_API_H

#include <jansson.h>
#include <kettle/host.h>
#include <stdbool.h>
#include <stddef.h>

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
	size_t
		token; /* the token that sent it; the next request of the same run names it, since each token has its own ETags */
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

/* Strings are borrowed. */
struct api_settings {
	const char
		*base; /* "https://api.github.com"; http only for this machine, since others could read the token on the way */
	const char *version; /* of the API: "2026-03-10" */
	const char *tokens;  /* one a line */
	uint64_t most_ms;    /* for one request, if less than API_TOTAL_MS */
};

/* EINVAL. */
int api_new(const struct kettle_host *host, const struct api_settings *settings, struct api **ret_api,
	struct kettle_error *err);
/* Ends all calls without calling back. Calls may be sent again. */
void api_stop(struct api *api);
/* api_stop, then frees. NULL is allowed. */
void api_free(struct api *api);
/* Never calls back before it returns. */
struct api_call *api_send(struct api *api, const struct api_request *request);
/* Ends a call without calling back. Returns whether it may have reached GitHub. */
bool api_cancel(struct api_call *call);
/* Whether a call may have reached GitHub by now. */
bool api_was_sent(const struct api_call *call);
/*
 * Waits for the time between two changes before the next one: the process before this one may have made a change just
 * now.
 */
void api_hold_changes(struct api *api);
/* How many tokens there are. */
size_t api_tokens(const struct api *api);
/* Whether URLs of other hosts must be https, since the API's is. */
bool api_is_secure(const struct api *api);
/* "GitHub answered WHAT with 422: MESSAGE". Returns EUNAVAIL. */
int api_fail(const struct api_answer *answer, const char *what, struct kettle_error *err);

#endif
