/* SPDX-License-Identifier: MIT */
/* The jobs of the runner: calls of the app's functions. */
/*
 * Theory of operation. A job is submitted under its own name, so a submission whose answer was lost can be sent again
 * without harm; the name of its call is then added to the stored handle. One request asks for the state of all jobs
 * that are due, one request at a time. Results of jobs that have ended are fetched one by one. common/remote_steps.c
 * decides when each request is sent, and what failures lead to.
 */
#include <config.h>

#include "runners/modal/calls.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/failpoint.h"
#include "base/json_access.h"
#include "base/xalloc.h"
#include "runners/common/download.h"
#include "runners/modal/api.h"
#include "sealed/result_package.h"

#define POLL_JOBS 500 /* in one request */
#define MAX_RESULT (RESULT_PACKAGE_MAX + (1u << 20))
#define NO_SENSE "Modal answered with something that modal_app.py does not say."

const struct remote_pace calls_pace = {.first_ms = 250,
	.most_ms = 10000,
	.invalid_answers = 5,
	.absent = 1,
	.finds = 1,
	.fetches = 4 /* results may be large */};

/* A job's own data. */
struct call {
	struct modal_request *request; /* to submit, find, cancel or fetch the job */
	struct download answer;        /* while its result is fetched */
};

/* Returns the name of the job's call; NULL: unknown. Borrowed. */
static const char *
call_name(const struct remote_job *job)
{
	return json_text_or_null(job->handle, "call");
}

static bool
begin(struct remote_job *job)
{
	job->own = xcalloc(1, sizeof(struct call));
	return call_name(job);
}

static void
release(struct remote_job *job)
{
	struct call *call = STEAL(job->own);
	if (!call)
		return;
	api_cancel(call->request);
	download_remove(&call->answer);
	free(call);
}

static bool
halt(struct remote_job *job)
{
	struct call *call = job->own;
	api_cancel(STEAL(call->request));
	return true;
}

/* Forgets the request, which was answered. */
static void
ended_request(const struct remote_job *job)
{
	struct call *call = job->own;
	call->request = NULL;
}

/* Reports an answer that does not fit the request. */
static void
tell_failure(struct remote_job *job, const struct modal_reply *reply, const char *why)
{
	static const enum remote_status words[] = {[REPLY_ANSWERED] = REMOTE_INVALID,
		[REPLY_REFUSED] = REMOTE_DENIED,
		[REPLY_SILENT] = REMOTE_NO_ANSWER,
		[REPLY_GARBAGE] = REMOTE_INVALID};
	remote_update(job, words[reply->kind], reply->kind == REPLY_ANSWERED && why ? why : reply->why);
}

static void
send_request(struct remote_job *job, const char *path, const char *key, const void *body, size_t size, api_fn done)
{
	struct call *call = job->own;
	struct kettle_error err = {0};
	call->request = api_send(job->remote->self, path, key, body, size, body ? ANSWER_MAX_JSON : MAX_RESULT,
		body ? NULL : call->answer.path, done, job, &err);
	if (!call->request)
		remote_update(job, REMOTE_NO_ANSWER, err.message);
}

/* ---- submitting and finding ---- */

/* The job exists, under this name. */
static void
take_call(struct remote_job *job, const char *name)
{
	json_object_set_new(job->handle, "call", json_string(name));
	remote_accepted(job);
	remote_store(job);
	remote_update(job, REMOTE_PENDING, NULL);
}

static void
on_submitted(void *arg, const struct modal_reply *reply)
{
	struct remote_job *job = arg;
	const char *why, *name = answer_call(reply, &why);
	failpoint("modal.submitted");
	ended_request(job);
	if (name)
		take_call(job, name);
	else if (job->report)
		remote_report(job, NULL, why);
	else if ((reply->kind == REPLY_REFUSED && job->failures == 0) ||
			 (reply->kind == REPLY_ANSWERED && reply->status == 404))
		remote_lost(job, KETTLE_LOSS_MISCONFIGURED, "The runner could not submit it: %s", reply->why);
	else if (reply->kind == REPLY_ANSWERED && reply->status >= 400)
		remote_lost(job, KETTLE_LOSS_NODE_FAULT, "The runner could not submit it: %s", reply->why);
	else
		tell_failure(job, reply, why);
}

static void
submit(struct remote_job *job)
{
	const char *function = json_text_or_empty(json_object_get(job->unit, "options"), "function");
	AUTO_FREE char *path = xasprintf("/%s/%s", job->report ? "doctor" : "submit", function);
	failpoint("modal.submit");
	if (job->envelope_size > API_MAX_REQUEST)
		remote_lost(job, KETTLE_LOSS_PERMANENT,
			"The runner could not submit it: its plan has %zu bytes, and one request to Modal takes %u.",
			job->envelope_size, API_MAX_REQUEST);
	else if (job->report)
		send_request(job, path, NULL, "", 0, on_submitted);
	else
		send_request(job, path, job->name, job->envelope, job->envelope_size, on_submitted);
}

static void
on_found(void *arg, const struct modal_reply *reply)
{
	struct remote_job *job = arg;
	const char *why, *name = answer_call(reply, &why);
	failpoint("modal.found");
	ended_request(job);
	if (name)
		take_call(job, name);
	else if (answer_unknown(reply))
		remote_update(job, REMOTE_ABSENT, "Modal does not have it: it was not submitted before the engine ended.");
	else
		tell_failure(job, reply, why);
}

static void
find(struct remote_job *job)
{
	AUTO_FREE char *path = xasprintf("/find/%s", job->name);
	failpoint("modal.find");
	send_request(job, path, NULL, "", 0, on_found);
}

/* ---- states ---- */

/* Handles one job's state in the answer to a poll. */
static void
take_state(struct remote_job *job, const struct modal_reply *reply)
{
	switch (answer_state(reply, call_name(job))) {
	case CALL_ENDED:
		failpoint("modal.ended");
		remote_update(job, REMOTE_ENDED, NULL);
		break;
	case CALL_STARTING:
		remote_update(job, REMOTE_PENDING, NULL);
		break;
	case CALL_RUNNING:
		remote_update(job, REMOTE_RUNNING, NULL);
		break;
	case CALL_LATER:
		remote_update(job, REMOTE_NO_ANSWER, "it cannot say what became of a call.");
		break;
	case CALL_UNSAID:
		tell_failure(job, reply, "it does not say what became of a call.");
		break;
	}
}

static bool
is_polled(const struct remote_job *job)
{
	return job && job->awaiting && job->phase == REMOTE_SUBMITTED && !job->cancelled && call_name(job);
}

static void flush(struct remote *remote);

static void
on_polled(void *arg, const struct modal_reply *reply)
{
	struct modal *modal = arg;
	AUTO_JSON json_t *refs = STEAL(modal->polled);
	size_t i;
	json_t *ref;
	modal->poll = NULL;
	json_array_foreach(refs, i, ref) {
		/* An answer about one job may have ended others. */
		struct remote_job *job = remote_find(&modal->remote, json_string_value(ref));
		if (is_polled(job))
			take_state(job, reply);
	}
	flush(&modal->remote);
}

/* Sends one request for the jobs that wait for one, unless one is under way. */
static void
flush(struct remote *remote)
{
	struct modal *modal = remote->self;
	struct kettle_error err = {0};
	if (modal->poll || json_array_size(modal->asked) == 0)
		return;
	AUTO_JSON json_t *ids = json_array();
	modal->polled = json_array();
	while (json_array_size(modal->asked) > 0 && json_array_size(ids) < POLL_JOBS) {
		json_t *ref = json_array_get(modal->asked, json_array_size(modal->asked) - 1);
		const struct remote_job *job = remote_find(remote, json_string_value(ref));
		if (is_polled(job)) {
			json_array_append(modal->polled, ref);
			json_array_append(ids, json_object_get(job->handle, "call"));
		}
		json_array_remove(modal->asked, json_array_size(modal->asked) - 1);
	}
	if (json_array_size(ids) == 0) {
		json_decref(STEAL(modal->polled));
		return;
	}
	AUTO_JSON json_t *body = json_pack("{s:O}", "ids", ids);
	AUTO_FREE char *text = json_dumps(body, JSON_COMPACT);
	modal->poll = api_send(modal, "/poll", NULL, text, strlen(text), ANSWER_MAX_JSON, NULL, on_polled, modal, &err);
	if (!modal->poll) {
		const struct modal_reply reply = answer_missing(&err);
		on_polled(modal, &reply);
	}
}

static void
on_report(void *arg, const struct modal_reply *reply)
{
	struct remote_job *job = arg;
	bool answered = reply->kind == REPLY_ANSWERED;
	ended_request(job);
	if (answered && reply->status == 202)
		remote_update(job, REMOTE_PENDING, NULL);
	else if (answered && reply->status == 200)
		remote_report(job, (json_t *)reply->json, NO_SENSE);
	else
		remote_report(job, NULL, reply->why);
}

static void
ask(struct remote_job *job)
{
	struct modal *modal = job->remote->self;
	AUTO_FREE char *path = xasprintf("/result/%s", call_name(job));
	if (job->report)
		send_request(job, path, NULL, NULL, 0, on_report);
	else
		json_array_append_new(modal->asked, json_string(job->ref));
}

void
calls_stop(struct modal *modal)
{
	api_cancel(STEAL(modal->poll));
	json_decref(STEAL(modal->polled));
	json_array_clear(modal->asked);
}

/* ---- results ---- */

/* Takes the result from the file of the answer. */
static void
take_result(struct remote_job *job)
{
	struct call *call = job->own;
	struct kettle_error err = {0};
	int fd = -1;
	if (download_open(&call->answer, &fd, &err) == 0)
		remote_result(job, fd);
	else
		remote_lost(job, KETTLE_LOSS_NODE_FAULT, "The runner could not keep a result: %s", err.message);
}

static void
on_fetched(void *arg, const struct modal_reply *reply)
{
	struct remote_job *job = arg;
	failpoint("modal.fetched");
	ended_request(job);
	if (reply->kind == REPLY_ANSWERED && reply->status == 200)
		take_result(job);
	else if (reply->kind == REPLY_ANSWERED && reply->status == 202)
		remote_update(job, REMOTE_PENDING, NULL);
	else if (answer_unknown(reply))
		remote_update(job, REMOTE_ABSENT, "Modal has no result for it any more: results are kept for 7 days.");
	else if (reply->kind == REPLY_ANSWERED)
		remote_lost(job, KETTLE_LOSS_NODE_FAULT, "The runner could not get a result: %s", reply->why);
	else
		tell_failure(job, reply, NULL);
}

static void
fetch(struct remote_job *job)
{
	struct call *call = job->own;
	struct kettle_error err = {0};
	AUTO_FREE char *path = xasprintf("/result/%s", call_name(job));
	download_remove(&call->answer);
	if (download_make(&call->answer, &err) < 0)
		remote_lost(job, KETTLE_LOSS_NODE_FAULT, "The runner could not keep a result: %s", err.message);
	else
		send_request(job, path, NULL, NULL, 0, on_fetched);
}

/* ---- cancelling ---- */

static void cancel(struct remote_job *job);

static void
on_cancelled(void *arg, const struct modal_reply *reply)
{
	struct remote_job *job = arg;
	const char *why, *name = answer_call(reply, &why);
	failpoint("modal.cancelled");
	ended_request(job);
	if (answer_unknown(reply) || (reply->kind == REPLY_ANSWERED && reply->status == 200 && call_name(job))) {
		remote_cancelled(job);
	} else if (name) { /* the answer to /find */
		json_object_set_new(job->handle, "call", json_string(name));
		cancel(job);
	} else {
		tell_failure(job, reply, why);
	}
}

/*
 * Cancels the call. If its name is unknown, /find tells it, or prevents a submission still under way from running.
 */
static void
cancel(struct remote_job *job)
{
	const char *name = call_name(job);
	failpoint("modal.cancel");
	AUTO_FREE char *path = name ? xasprintf("/cancel/%s", name) : xasprintf("/find/%s", job->name);
	send_request(job, path, NULL, "", 0, on_cancelled);
}

/* ---- the queue ---- */

struct status {
	struct remote_inquiry *inquiry;
	struct modal_request *request;
};

static char *
where(const struct remote_job *job)
{
	return call_name(job) ? xstrdup(call_name(job)) : NULL;
}

static void
on_health(void *arg, const struct modal_reply *reply)
{
	struct status *status = arg;
	bool answered = reply->kind == REPLY_ANSWERED && reply->status == 200;
	status->request = NULL;
	if (!answered || !reply->json) {
		remote_answer(status->inquiry, NULL, answered ? NO_SENSE : reply->why);
		return;
	}
	AUTO_FREE char *text = answer_health(reply->json);
	AUTO_JSON json_t *answer =
		json_pack("{s:o, s:s}", "jobs", remote_list(status->inquiry->remote, where), "text", text);
	remote_answer(status->inquiry, answer, NULL);
}

static void
end_status(void *own)
{
	struct status *status = own;
	api_cancel(status->request);
	free(status);
}

int
calls_status(void *self, remote_done done, void *arg, struct kettle_error *err)
{
	struct modal *modal = self;
	if (calls_check(&modal->remote, err) < 0)
		return err->code;
	struct status *status = xcalloc(1, sizeof(*status));
	status->request = api_send(modal, "/health", NULL, NULL, 0, ANSWER_MAX_JSON, NULL, on_health, status, err);
	if (!status->request) {
		free(status);
		return err->code;
	}
	status->inquiry = remote_inquire(&modal->remote, done, arg, status, end_status);
	return 0;
}

const struct remote_ops calls_ops = {
	.begin = begin,
	.send = submit,
	.find = find,
	.ask = ask,
	.flush = flush,
	.fetch = fetch,
	.cancel = cancel,
	.halt = halt,
	.release = release,
	.check = calls_check,
	.check_unit = calls_check_unit,
};
