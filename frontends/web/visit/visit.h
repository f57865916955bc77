/* SPDX-License-Identifier: MIT */
/*
 * A request that commands of the core answer: who sends it, which commands it calls, its answer.
 *
 * Theory of operation. A visit begins on the server's thread and goes on at the loop. It calls one command after the
 * other; an error of one goes to `fail`, which answers. When the client leaves, the command that is under way is
 * cancelled. The server's thread knows a visit by its number alone, since the loop may free it at any time.
 */
#pragma once

#include "web/visit/web.h"

#define VISITS_MAX 2000        /* open at once */
#define VISITS_ADDRESS_MAX 256 /* of them from one address */

struct visit;

/* Goes on with a visit; result is the answer of the last command, borrowed. */
typedef void (*visit_fn)(struct visit *visit, json_t *result);

/* Answers an error; the visit then ends. */
typedef void (*visit_fail_fn)(struct visit *visit, const struct kettle_error *err);

struct visit {
	struct web *web;
	struct http_request *request; /* until it is answered */
	struct http_stream *stream;   /* or NULL */
	json_t *actor;                /* who sends it; the web's `anonymous` without a credential */
	json_t *data;                 /* an object, for the maker of the visit */
	visit_fail_fn fail;
	/* Or NULL: whether the visit goes on in place of failing. */
	bool (*mend)(struct visit *visit, const struct kettle_error *err);
	const void *about;               /* likewise; or NULL */
	void *state;                     /* for the maker of the visit; or NULL */
	void (*free_state)(void *state); /* at its end; or NULL */
	bool waits;                      /* for events alone: it ends when its client leaves; the next call ends this */
	/* Of visit.c. */
	struct visit *next, **link;
	char *address;
	uint64_t number, caller, call, subscription, until_ms;
	struct kettle_error refused; /* why the credential is no good */
	bool has_left, is_cut, is_late;
	visit_fn then;
};

struct visits *visits_new(struct web *web);
void visits_free(struct visits *visits); /* NULL is allowed */
/* Starts what the loop does for visits. Loop thread. */
int visits_start(struct visits *visits, struct kettle_error *err);
/*
 * The server begins to stop: what takes longer than a few seconds from now on is cancelled, and fails with EUNAVAIL.
 * Loop thread.
 */
void visits_hurry(struct visits *visits);
/* The server has stopped: visits no longer answer. Loop thread. */
void visits_cut(struct visits *visits);

/*
 * The parameters of a request's query as texts, of several with one name the first; a malformed query has none. New
 * reference. [any]
 */
json_t *visit_query(const struct http_request *request, struct kettle_error *err);
/*
 * Begins a visit: finds who has the token (NULL or "": the anonymous actor), then calls start on the loop, with NULL as result.
 * limit_ms: for all of its commands; then it fails with EUNAVAIL (0: no limit). data_take and about may be NULL. [any]
 */
void visit_begin(struct web *web, struct http_request *request, const char *token, uint64_t limit_ms, visit_fn start,
	visit_fail_fn fail, json_t *data_take, const void *about);
/* Calls a command as the visit's actor, as one from outside, then `then`. Loop thread. */
void visit_call(struct visit *visit, const char *command, json_t *args_take, visit_fn then);
/* The same for a command that only plugins may call, as the frontend itself. */
void visit_call_internal(struct visit *visit, const char *command, json_t *args_take, visit_fn then);
/* The same as the visit's actor with an admin's rights, which an operator has given. */
void visit_call_admin(struct visit *visit, const char *command, json_t *args_take, visit_fn then);
/* Answers with an event stream, which ends with the visit. Loop thread. */
void visit_stream(struct visit *visit);
/*
 * Answers with an event stream, and follows what `filter` selects, as the visit's actor, from event number `after` on.
 * fn's arg is the visit. The stream ends with the visit, which has no limit any more. Loop thread.
 */
int visit_follow(
	struct visit *visit, const json_t *filter, int64_t after, kettle_event_fn fn, struct kettle_error *err);
/* An event of a stream: its name and a value, in one line of ASCII. The caller has one reference. [any] */
struct http_chunk *visit_chunk(const char *name, const json_t *value);
/* Sends an event of the stream. Loop thread. */
void visit_send(struct visit *visit, const char *name, const json_t *value);
/* Sends the last event, which may be of any size. Loop thread. */
void visit_send_last(struct visit *visit, struct http_chunk *chunk_take);
/* Fails with that error. Loop thread. */
void visit_fail(struct visit *visit, const struct kettle_error *err);
/* The same by a code and a sentence. Loop thread. */
void visit_refuse(struct visit *visit, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Answers with an error in the form of commands; a `fail` of visits. */
void visit_respond_error(struct visit *visit, const struct kettle_error *err);
/* Whether nothing reads an answer any more: the client has left, or the server has stopped. Loop thread. */
bool visit_is_over(struct visit *visit);
/* Ends and frees a visit that is answered. Loop thread. */
void visit_end(struct visit *visit);
/* The client of a request has left. On the server's thread. */
void visits_gone(struct visits *visits, struct http_request *request);
