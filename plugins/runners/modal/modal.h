/* SPDX-License-Identifier: MIT */
/* Declarations that the files of the runner modal share. All on the loop thread, unless they say otherwise. */
#pragma once

#include <jansson.h>
#include <kettle/host.h>
#include <stdbool.h>
#include <stdint.h>

#include "runners/common/remote.h"

#define MODAL_NO_SENSE "Modal's answer is not one of modal_app.py."
#define MODAL_NAME_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"

/* One instance of the plugin. */
struct modal {
	struct remote remote;       /* first */
	char *url;                  /* of the app, without a slash at its end */
	char *key, *secret;         /* "Modal-Key: …" and "Modal-Secret: …" */
	uint64_t answer_ms;         /* limit of one request */
	struct modal_request *poll; /* the request for states that is under way */
};

/* ---- api.c: requests to modal_app.py ---- */

#define MODAL_INTERFACE 1          /* of modal_app.py's paths */
#define API_MAX_REQUEST (8u << 20) /* bytes of a body that host->http takes */
#define ANSWER_MAX_JSON (4u << 20) /* bytes of a JSON answer */
#define ANSWER_MAX_NAME 100        /* bytes of a call's name */
#define ANSWER_MAX_DEVICES 100     /* in a health answer */

enum reply_kind {
	REPLY_ANSWERED, /* `status` says how */
	REPLY_REFUSED,  /* the credentials are refused */
	REPLY_SILENT,   /* no answer, or one that says "not now" */
	REPLY_GARBAGE,  /* an answer that no app gives */
};

/* The result of a request; borrowed. */
struct modal_reply {
	enum reply_kind kind;
	int status;         /* of ANSWERED: 200, 202, or one of 4xx with `json` */
	const json_t *json; /* an object; NULL: the body is no JSON, or in a file */
	const char *why;    /* a sentence, unless it is ANSWERED with 200 or 202 */
};

typedef void (*api_fn)(void *arg, const struct modal_reply *reply);

/*
 * Sends a request to a path of the app, such as "/submit/gpu". body NULL: a GET. job: the idempotency key, or NULL.
 * answer_file: see kettle_http_request, or NULL. done is called once, after this returns, unless the request is
 * cancelled. NULL: the request was not sent, done is not called, and err says why.
 */
struct modal_request *api_send(struct modal *modal, const char *path, const char *job, const void *body, size_t size,
	size_t max_answer, const char *answer_file, api_fn done, void *arg, struct kettle_error *err);
/* Ends a request without calling done. NULL is allowed. */
void api_cancel(struct modal_request *request);

/* ---- likewise: the meaning of answers, which are not trusted. [any] ---- */

/*
 * Judges an HTTP answer to a request to the app at this URL (without a slash at its end). ret_json holds the reply's
 * `json`, which the caller frees after it; ret_why holds its sentence.
 */
struct modal_reply answer_judge(
	const char *app_url, const struct kettle_http_answer *answer, json_t **ret_json, struct kettle_error *ret_why);
/* Likewise, if there was no answer; the sentence is err's. */
struct modal_reply answer_missing(const struct kettle_error *err);
/*
 * The name of a call in a 200 of this interface, fit for a path; borrowed from the reply. NULL: it has none, or the
 * reply is not such a 200, and *ret_why says what is wrong.
 */
const char *answer_call(const struct modal_reply *reply, const char **ret_why);
/* The state of the call in a poll's answer: PENDING, RUNNING, ENDED; NO_ANSWER: not known now; INVALID: there is none. */
enum remote_status answer_state(const struct modal_reply *reply, const char *call);
/* Whether the app says that it does not know the job or call. A 404 of Modal itself means that there is no app. */
bool answer_unknown(const struct modal_reply *reply);
/* The answer of /health in one line: "kettle-exec 0.1.0; H100: 2 waiting, 1 running". New string. */
char *answer_health(const json_t *health);
