/* SPDX-License-Identifier: MIT */
/* Requests to modal_app.py: credentials and redirects. */
#include <config.h>

#include "runners/modal/api.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/xalloc.h"

#define CONNECT_MS 10000
/* Modal's proxy sends a request that takes long to its result, again every 150 s. */
#define MAX_REDIRECTS 5

struct modal_request {
	struct modal *modal;
	uint64_t id;
	api_fn done;
	void *arg;
};

static void
on_http(void *arg, const struct kettle_error *err, const struct kettle_http_answer *answer)
{
	struct modal_request *request = arg;
	struct modal *modal = request->modal;
	struct kettle_error why = {0};
	AUTO_JSON json_t *json = NULL;
	const struct modal_reply reply =
		err->code < 0 ? answer_missing(err) : answer_judge(modal->url, answer, &json, &why);
	if (reply.kind == REPLY_REFUSED)
		modal->host->credential(modal->host, why.message);
	else if (reply.kind == REPLY_ANSWERED)
		modal->host->credential(modal->host, NULL);
	bool reached = reply.kind == REPLY_ANSWERED || reply.kind == REPLY_GARBAGE;
	modal->host->reached(modal->host, NULL, reached ? NULL : reply.why);
	api_fn done = request->done;
	void *done_arg = request->arg;
	free(request);
	done(done_arg, &reply);
}

struct modal_request *
api_send(struct modal *modal, const char *path, const char *job, const void *body, size_t size, size_t max_answer,
	const char *answer_file, api_fn done, void *arg, struct kettle_error *err)
{
	AUTO_FREE char *url = xasprintf("%s%s", modal->url, path);
	AUTO_FREE char *key = job ? xasprintf("Idempotency-Key: %s", job) : NULL;
	const char *headers[] = {modal->key, modal->secret, "Accept: application/json, application/octet-stream",
		body ? "Content-Type: application/octet-stream" : key, body ? key : NULL, NULL};
	struct modal_request *request = xmalloc(sizeof(*request));
	*request = (struct modal_request){.modal = modal, .done = done, .arg = arg};
	const struct kettle_http_request http = {
		.size = sizeof(http),
		.method = body ? "POST" : "GET",
		.url = url,
		.headers = headers,
		.body = body,
		.body_size = size,
		.max_body = max_answer,
		.answer_file = answer_file,
		.connect_ms = CONNECT_MS,
		.total_ms = (uint32_t)modal->answer_ms,
		.max_redirects = MAX_REDIRECTS,
		.done = on_http,
		.arg = request,
	};
	if (modal->host->http(modal->host, &http, &request->id, err) == 0)
		return request;
	free(request);
	return NULL;
}

void
api_cancel(struct modal_request *request)
{
	if (!request)
		return;
	request->modal->host->http_cancel(request->modal->host, request->id);
	free(request);
}
