/* SPDX-License-Identifier: MIT */
/* Requests to modal_app.py: credentials and redirects. */
#include <config.h>

#include "runners/modal/api.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/xalloc.h"

#define CONNECT_MS 10000
/* Modal's proxy redirects a request that takes long to the place of its result, every 150 s. */
#define MAX_REDIRECTS 5

struct modal_request {
	struct modal *modal; /* NULL: cancelled while a thread reads its answer */
	uint64_t id;
	api_fn done;
	void *arg;
	bool reading;
	/* Copies for the thread that reads. */
	char *app_url, *url, *body;
	struct kettle_http_answer answer;
	struct modal_reply reply;
	json_t *json;
	struct kettle_error why;
};

static void
free_request(struct modal_request *request)
{
	json_decref(request->json);
	free(request->app_url);
	free(request->url);
	free(request->body);
	free(request);
}

static void
end_request(struct modal_request *request)
{
	const struct modal *modal = request->modal;
	const struct modal_reply *reply = &request->reply;
	if (reply->kind == REPLY_REFUSED)
		modal->host->credential(modal->host, request->why.message);
	else if (reply->kind == REPLY_ANSWERED)
		modal->host->credential(modal->host, NULL);
	bool reached = reply->kind == REPLY_ANSWERED || reply->kind == REPLY_GARBAGE;
	modal->host->reached(modal->host, NULL, reached ? NULL : reply->why);
	request->done(request->arg, reply);
	free_request(request);
}

/* Judges the answer on a thread of the pool. */
static void
read_answer(void *arg)
{
	struct modal_request *request = arg;
	request->reply = answer_judge(request->app_url, &request->answer, &request->json, &request->why);
}

static void
on_answer_read(void *arg)
{
	struct modal_request *request = arg;
	if (request->modal)
		end_request(request);
	else
		free_request(request);
}

/*
 * Has a thread of the pool read a long answer, with a copy of everything that it needs. False: the answer is short, or
 * that failed.
 */
static bool
read_elsewhere(struct modal_request *request, const struct kettle_http_answer *answer)
{
	const struct kettle_host *host = request->modal->host;
	if (!answer->body || answer->body_size < KETTLE_LINE_LONG || answer->body_size > ANSWER_MAX_JSON)
		return false;
	request->app_url = xstrdup(request->modal->url);
	request->url = answer->url ? xstrdup(answer->url) : NULL;
	request->body = xmemdup(answer->body, answer->body_size);
	request->answer = (struct kettle_http_answer){
		.status = answer->status, .url = request->url, .body = request->body, .body_size = answer->body_size};
	request->reading = host->work(host, read_answer, on_answer_read, request, NULL) == 0;
	return request->reading;
}

static void
on_http(void *arg, const struct kettle_error *err, const struct kettle_http_answer *answer)
{
	struct modal_request *request = arg;
	if (err->code == 0 && read_elsewhere(request, answer))
		return;
	request->reply =
		err->code < 0 ? answer_missing(err) : answer_judge(request->modal->url, answer, &request->json, &request->why);
	end_request(request);
}

struct modal_request *
api_send(struct modal *modal, const char *path, const char *job, const void *body, size_t size, size_t max_answer,
	const char *answer_file, api_fn done, void *arg, struct kettle_error *err)
{
	AUTO_FREE char *url = xasprintf("%s%s", modal->url, path);
	AUTO_FREE char *key = job ? xasprintf("Idempotency-Key: %s", job) : NULL;
	const char *headers[] = {modal->key, modal->secret, "Accept: application/json, application/octet-stream",
		body ? "Content-Type: application/octet-stream" : key, body ? key : NULL, NULL};
	struct modal_request *request = xcalloc(1, sizeof(*request));
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
	if (request->reading) {
		request->modal = NULL;
		return;
	}
	request->modal->host->http_cancel(request->modal->host, request->id);
	free_request(request);
}
