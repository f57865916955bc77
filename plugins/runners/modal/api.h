/* SPDX-License-Identifier: MIT */
/* Requests to modal_app.py. All on the loop thread. */
#ifndef KETTLE_RUNNERS_MODAL_API_H
#define KETTLE_RUNNERS_MODAL_API_H

#include "runners/modal/answers.h"
#include "runners/modal/modal.h"

#define API_MAX_REQUEST (8u << 20) /* bytes of a body that host->http takes */

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

#endif
