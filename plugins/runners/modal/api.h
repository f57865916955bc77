/* SPDX-License-Identifier: MIT */
/* Requests to modal_app.py. All on the loop thread. */
#ifndef KETTLE_RUNNERS_MODAL_API_H
#define KETTLE_RUNNERS_MODAL_API_H

#include "runners/modal/modal.h"

#define API_MAX_JSON (4u << 20)    /* bytes of an answer that is JSON */
#define API_MAX_REQUEST (8u << 20) /* bytes of a body that host->http takes */
#define API_MAX_NAME 100           /* bytes of a call's name */

enum api_kind {
	API_ANSWERED, /* status says what */
	API_REFUSED,  /* the credentials were not taken */
	API_SILENT,   /* there was no answer, or one that says "not now" */
	API_GARBAGE,  /* there was one that no app gives */
};

/* What a request came to; borrowed for the callback. */
struct api_reply {
	enum api_kind kind;
	int status;         /* of ANSWERED: 200, 202, or one of 4xx with `json` */
	const json_t *json; /* an object; NULL: the body is no JSON */
	const void *body;
	size_t size;
	const char *why; /* a sentence, unless the status is 200 or 202 */
};

typedef void (*api_fn)(void *arg, const struct api_reply *reply);

/*
 * Sends a request to a path of the app, "/submit/gpu". body NULL: a GET. job: the idempotency key, or NULL. done is called once,
 * never before this returns, unless the request is cancelled. NULL: it was not sent, and done is not called; err says why.
 */
struct modal_request *api_send(struct modal *modal, const char *path, const char *job, const void *body, size_t size,
	size_t max_answer, api_fn done, void *arg, struct kettle_error *err);
/* done is not called any more. NULL is allowed. */
void api_cancel(struct modal_request *request);
/* A reply of kind SILENT with this sentence, in place of one that api_send refused. */
struct api_reply api_no_reply(const struct kettle_error *err);
/* The name of a call in a 200 of this interface; NULL: it has none, and *ret_why says what is wrong. Borrowed. */
const char *api_call(const struct api_reply *reply, const char **ret_why);
/* Whether the app says that it does not know the job or call: a 404 of Modal itself says that there is no app. */
bool api_unknown(const struct api_reply *reply);

#endif
