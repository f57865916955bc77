/* SPDX-License-Identifier: MIT */
/* The jobs of the runner: calls of the app's functions. */
/*
 * Theory of operation. A job is submitted under its own name, so that a submission whose answer was lost is sent again
 * without harm; the name of its call is then added to the stored handle. One request looks at all jobs that are due; the results of those
 * that have ended are fetched one by one. What fails is tried again, later each time, until the job is lost: where nothing was
 * heard of it for as long as the options say, or where answers make no sense several times in a row.
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

#define POLL_YOUNG_MS 500  /* between two looks at a job, in the first YOUNG_MS of its waiting and of its running, */
#define POLL_MS 1000       /* then until OLD_MS, */
#define POLL_PARTS 600     /* then a 600th of that time, */
#define POLL_MOST_MS 10000 /* at most */
#define YOUNG_MS 30000
#define OLD_MS 600000
#define POLL_JOBS 500       /* in one request */
#define POLL_TOGETHER_MS 50 /* jobs that are due so soon are looked at, too */
#define BACKOFF_MS 250
#define BACKOFF_MOST_MS 10000
#define GARBAGE_MAX 5 /* answers in a row that make no sense */
#define FETCHES_MAX 4 /* results at a time: each may be large */
#define MAX_RESULT (RESULT_PACKAGE_MAX + (1u << 20))

/* A job's own. */
struct call {
	struct modal_request *request; /* to submit, find, cancel, or fetch it */
	struct kettle_timer *retry;
	void (*again)(struct remote_job *job); /* what the timer repeats */
	unsigned failures, garbage;            /* in a row */
	uint64_t since, heard, due;            /* ms: its state's begin, the last answer about it, the next look at it */
	bool ended;                            /* there, and its result is to be fetched */
	bool fetching;
	struct download answer; /* while it is fetched */
};

static uint64_t
now_ms(const struct remote *remote)
{
	return remote->host->monotonic_ms(remote->host);
}

static struct call *
new_call(struct remote_job *job)
{
	struct call *call = xcalloc(1, sizeof(*call));
	call->since = call->heard = call->due = now_ms(job->remote);
	job->own = call;
	return call;
}

const char *
calls_name(const struct remote_job *job)
{
	return member_string(job->handle, "call");
}

static void
release(struct remote_job *job)
{
	struct modal *modal = job->remote->self;
	struct call *call = STEAL(job->own);
	if (!call)
		return;
	api_cancel(call->request);
	modal->host->timer_stop(modal->host, call->retry);
	modal->fetches -= call->fetching;
	download_remove(&call->answer);
	free(call);
}

/* ---- trying again ---- */

static void
on_retry(void *arg)
{
	struct remote_job *job = arg;
	struct call *call = job->own;
	call->retry = NULL;
	call->again(job);
}

static void
retry(struct remote_job *job, void (*again)(struct remote_job *job))
{
	struct call *call = job->own;
	struct modal *modal = job->remote->self;
	struct kettle_error err = {0};
	call->again = again;
	if (modal->host->timer_start(modal->host, remote_backoff_ms(call->failures, BACKOFF_MS, BACKOFF_MOST_MS), 0,
			on_retry, job, &call->retry, &err) < 0)
		remote_lost(job, KETTLE_LOSS_FAILED, "The runner could not go on: %s", err.message);
}

/*
 * Counts an answer that was none. false: it was one too many, and the job is lost. A refused credential is for the operator to mend, for
 * as long as that takes: the job may be there.
 */
static bool
bear(struct remote_job *job, const struct modal_reply *reply, uint64_t patience_ms)
{
	struct call *call = job->own;
	call->failures++;
	call->garbage = reply->kind == REPLY_GARBAGE ? call->garbage + 1 : 0;
	if (reply->kind == REPLY_REFUSED)
		call->heard = now_ms(job->remote);
	if (call->garbage >= GARBAGE_MAX)
		remote_lost(job, KETTLE_LOSS_FAILED, "The runner could not use what Modal answers: %s", reply->why);
	else if (now_ms(job->remote) - call->heard >= patience_ms)
		remote_lost(job, KETTLE_LOSS_UNREACHED, "The runner could not reach Modal for %u s: %s",
			(unsigned)(patience_ms / 1000), reply->why);
	else
		return true;
	return false;
}

static void
hear(const struct remote_job *job)
{
	struct call *call = job->own;
	call->failures = call->garbage = 0;
	call->heard = now_ms(job->remote);
}

/* Sends a request of the job; where that fails, it is tried again in a while. false: it was not sent, and the job may be gone. */
static bool
send_request(struct remote_job *job, const char *path, const char *key, const void *body, size_t size, api_fn done,
	void (*again)(struct remote_job *job))
{
	struct modal *modal = job->remote->self;
	struct call *call = job->own;
	struct kettle_error err = {0};
	call->request = api_send(modal, path, key, body, size, body ? ANSWER_MAX_JSON : MAX_RESULT,
		body ? NULL : call->answer.path, done, job, &err);
	if (call->request)
		return true;
	const struct modal_reply reply = answer_missing(&err);
	if (bear(job, &reply, modal->send_ms))
		retry(job, again);
	return false;
}

/* ---- looking at what runs ---- */

static void schedule(struct modal *modal);

static uint64_t
interval_ms(const struct call *call, uint64_t now)
{
	uint64_t age = now - call->since, part = age / POLL_PARTS;
	if (age < YOUNG_MS)
		return POLL_YOUNG_MS;
	return age < OLD_MS ? POLL_MS : part < POLL_MOST_MS ? part : POLL_MOST_MS;
}

static bool
is_polled(const struct remote_job *job)
{
	const struct call *call = job->own;
	return call && job->phase == REMOTE_AWAY && !job->cancelled && !call->ended && calls_name(job);
}

static void fetch_next(struct modal *modal);

/* What one job's state is, by the answer to a poll. */
static void
take_state(struct remote_job *job, const struct modal_reply *reply)
{
	struct modal *modal = job->remote->self;
	struct call *call = job->own;
	enum call_state state = answer_state(reply, calls_name(job));
	uint64_t now = now_ms(job->remote);
	if (state == CALL_ENDED) {
		failpoint("modal.ended");
		call->ended = true;
	} else if (state == CALL_STARTING || state == CALL_RUNNING) {
		bool began = state == CALL_RUNNING && !job->running;
		hear(job);
		if (began)
			call->since = now;
		call->due = now + interval_ms(call, now);
		if (began)
			remote_running(job);
	} else {
		const struct modal_reply later = {.kind = REPLY_SILENT, .why = "it cannot say what became of a call."};
		const struct modal_reply none = answer_garbage("it does not say what became of a call.");
		if (bear(job, state == CALL_LATER ? &later : reply->kind == REPLY_ANSWERED ? &none : reply, modal->quiet_ms))
			call->due = now + remote_backoff_ms(call->failures, BACKOFF_MS, BACKOFF_MOST_MS);
	}
}

static void
on_polled(void *arg, const struct modal_reply *reply)
{
	struct modal *modal = arg;
	AUTO_JSON json_t *refs = STEAL(modal->polled);
	size_t i;
	json_t *ref;
	modal->poll = NULL;
	json_array_foreach(refs, i, ref) {
		/* What one of them leads to may have ended others. */
		struct remote_job *job = remote_find(&modal->remote, json_string_value(ref));
		if (job && is_polled(job))
			take_state(job, reply);
	}
	fetch_next(modal);
	schedule(modal);
}

static void
on_due(void *arg)
{
	struct modal *modal = arg;
	struct kettle_error err = {0};
	uint64_t until = now_ms(&modal->remote) + POLL_TOGETHER_MS;
	AUTO_JSON json_t *ids = json_array();
	modal->timer = NULL;
	modal->polled = json_array();
	for (const struct remote_job *job = modal->remote.jobs; job; job = job->next) {
		const struct call *call = job->own;
		if (!is_polled(job) || call->due > until)
			continue;
		json_array_append_new(modal->polled, json_string(job->ref));
		json_array_append(ids, json_object_get(job->handle, "call"));
		if (json_array_size(ids) == POLL_JOBS)
			break;
	}
	if (json_array_size(ids) == 0) {
		json_decref(STEAL(modal->polled));
		schedule(modal);
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

/* Starts the timer to the next look, unless one is under way. */
static void
schedule(struct modal *modal)
{
	uint64_t now = now_ms(&modal->remote), first = UINT64_MAX;
	struct kettle_error err = {0};
	if (modal->poll)
		return;
	for (const struct remote_job *job = modal->remote.jobs; job; job = job->next) {
		const struct call *call = job->own;
		if (is_polled(job) && call->due < first)
			first = call->due;
	}
	modal->host->timer_stop(modal->host, STEAL(modal->timer));
	if (first == UINT64_MAX)
		return;
	if (modal->host->timer_start(modal->host, first > now ? first - now : 0, 0, on_due, modal, &modal->timer, &err) < 0)
		modal->host->log(modal->host, KETTLE_LOG_ERROR, "jobs are not looked at any more: %s", err.message);
}

void
calls_stop(struct modal *modal)
{
	modal->host->timer_stop(modal->host, STEAL(modal->timer));
	api_cancel(STEAL(modal->poll));
	json_decref(STEAL(modal->polled));
}

/* ---- results ---- */

static void fetch(struct remote_job *job);

/* The answer to the request for it is in the file. */
static void
take_result(struct remote_job *job)
{
	struct call *call = job->own;
	struct kettle_error err = {0};
	int fd = -1;
	if (download_open(&call->answer, &fd, &err) == 0)
		remote_result(job, fd);
	else
		remote_lost(job, KETTLE_LOSS_FAILED, "The runner could not keep a result: %s", err.message);
}

static void
on_fetched(void *arg, const struct modal_reply *reply)
{
	struct remote_job *job = arg;
	struct modal *modal = job->remote->self;
	struct call *call = job->own;
	failpoint("modal.fetched");
	call->request = NULL;
	call->fetching = false;
	modal->fetches--;
	if (reply->kind == REPLY_ANSWERED && reply->status == 200) {
		take_result(job);
	} else if (reply->kind == REPLY_ANSWERED && reply->status == 202) {
		const struct modal_reply none = answer_garbage("it says that a call has ended, and then that it has not.");
		call->ended = false;
		if (bear(job, &none, modal->quiet_ms))
			call->due = now_ms(job->remote) + remote_backoff_ms(call->failures, BACKOFF_MS, BACKOFF_MOST_MS);
	} else if (answer_unknown(reply)) {
		remote_lost(job, KETTLE_LOSS_GONE, "Modal has no result for it any more: results are kept for 7 days.");
	} else if (reply->kind == REPLY_ANSWERED) {
		remote_lost(job, KETTLE_LOSS_FAILED, "The runner could not get a result: %s", reply->why);
	} else if (bear(job, reply, modal->quiet_ms)) {
		retry(job, fetch);
	}
	fetch_next(modal);
	schedule(modal);
}

static void
fetch(struct remote_job *job)
{
	struct modal *modal = job->remote->self;
	struct call *call = job->own;
	struct kettle_error err = {0};
	AUTO_FREE char *path = xasprintf("/result/%s", calls_name(job));
	download_remove(&call->answer);
	if (download_make(&call->answer, &err) < 0)
		remote_lost(job, KETTLE_LOSS_FAILED, "The runner could not keep a result: %s", err.message);
	else if (send_request(job, path, NULL, NULL, 0, on_fetched, fetch)) {
		call->fetching = true;
		modal->fetches++;
	}
}

/* Begins with as many results as may be fetched at a time. */
static void
fetch_next(struct modal *modal)
{
	struct remote_job *job = modal->remote.jobs;
	while (job && modal->fetches < FETCHES_MAX) {
		const struct call *call = job->own;
		if (call && call->ended && !call->retry && !call->request && job->phase == REMOTE_AWAY && !job->cancelled) {
			fetch(job);
			job = modal->remote.jobs; /* the list may be another one */
		} else {
			job = job->next;
		}
	}
}

/* ---- submitting ---- */

/* The job is there, under this name. */
static void
take_call(struct remote_job *job, const char *name)
{
	struct modal *modal = job->remote->self;
	struct call *call = job->own;
	hear(job);
	call->since = call->heard;
	call->due = call->since + POLL_YOUNG_MS;
	json_object_set_new(job->handle, "call", json_string(name));
	remote_sent(job);
	remote_store(job);
	schedule(modal);
}

static void submit(struct remote_job *job);

static void
on_submitted(void *arg, const struct modal_reply *reply)
{
	struct remote_job *job = arg;
	const struct modal *modal = job->remote->self;
	struct call *call = job->own;
	const char *why, *name = answer_call(reply, &why);
	const struct modal_reply other = answer_garbage(why);
	failpoint("modal.submitted");
	call->request = NULL;
	if (name)
		take_call(job, name);
	else if ((reply->kind == REPLY_REFUSED && call->failures == 0) ||
			 (reply->kind == REPLY_ANSWERED && reply->status == 404))
		remote_lost(job, KETTLE_LOSS_UNUSABLE, "The runner could not submit it: %s", reply->why);
	else if (reply->kind == REPLY_ANSWERED && reply->status >= 400)
		remote_lost(job, KETTLE_LOSS_FAILED, "The runner could not submit it: %s", reply->why);
	else if (bear(job, reply->kind == REPLY_ANSWERED ? &other : reply, modal->send_ms))
		retry(job, submit);
}

static void
submit(struct remote_job *job)
{
	const char *function = member_text(json_object_get(job->unit, "options"), "function");
	AUTO_FREE char *path = xasprintf("/submit/%s", function);
	if (job->envelope_size > API_MAX_REQUEST) {
		remote_lost(job, KETTLE_LOSS_FINAL,
			"The runner could not submit it: its plan has %zu bytes, and one request to Modal takes %u.",
			job->envelope_size, API_MAX_REQUEST);
		return;
	}
	(void)send_request(job, path, job->name, job->envelope, job->envelope_size, on_submitted, submit);
}

static void
send_job(struct remote_job *job)
{
	failpoint("modal.submit");
	(void)new_call(job);
	submit(job);
}

/* ---- finding ---- */

static void look_for(struct remote_job *job);

static void
on_found(void *arg, const struct modal_reply *reply)
{
	struct remote_job *job = arg;
	const struct modal *modal = job->remote->self;
	struct call *call = job->own;
	const char *why, *name = answer_call(reply, &why);
	const struct modal_reply other = answer_garbage(why);
	failpoint("modal.found");
	call->request = NULL;
	if (name)
		take_call(job, name);
	else if (answer_unknown(reply))
		remote_lost(
			job, KETTLE_LOSS_UNSTARTED, "Modal does not have it: it was not submitted before the engine ended.");
	else if (bear(job, reply->kind == REPLY_ANSWERED ? &other : reply, modal->quiet_ms))
		retry(job, look_for);
}

static void
look_for(struct remote_job *job)
{
	AUTO_FREE char *path = xasprintf("/find/%s", job->name);
	failpoint("modal.find");
	(void)send_request(job, path, NULL, "", 0, on_found, look_for);
}

static void
find_job(struct remote_job *job)
{
	(void)new_call(job);
	if (calls_name(job))
		schedule(job->remote->self);
	else
		look_for(job);
}

/* ---- cancelling ---- */

static void cancel(struct remote_job *job);

static void
on_cancelled(void *arg, const struct modal_reply *reply)
{
	struct remote_job *job = arg;
	struct call *call = job->own;
	const char *why, *name = answer_call(reply, &why);
	failpoint("modal.cancelled");
	call->request = NULL;
	if (answer_unknown(reply) || (reply->kind == REPLY_ANSWERED && reply->status == 200 && calls_name(job))) {
		remote_cancelled(job);
		return;
	}
	if (name) { /* of /find */
		json_object_set_new(job->handle, "call", json_string(name));
		cancel(job);
		return;
	}
	call->failures++;
	retry(job, cancel); /* until remote.c gives up */
}

/* Without a name the job is looked for: whatever of its submission is under way then comes too late. */
static void
cancel(struct remote_job *job)
{
	const char *name = calls_name(job);
	failpoint("modal.cancel");
	AUTO_FREE char *path = name ? xasprintf("/cancel/%s", name) : xasprintf("/find/%s", job->name);
	(void)send_request(job, path, NULL, "", 0, on_cancelled, cancel);
}

static void
cancel_job(struct remote_job *job)
{
	struct modal *modal = job->remote->self;
	struct call *call = job->own;
	api_cancel(STEAL(call->request));
	modal->host->timer_stop(modal->host, STEAL(call->retry));
	modal->fetches -= call->fetching;
	call->fetching = false;
	call->failures = 0;
	cancel(job);
}

const struct remote_ops calls_ops = {
	.send = send_job,
	.find = find_job,
	.cancel = cancel_job,
	.release = release,
};
