/* SPDX-License-Identifier: MIT */
/*
 * The runner `modal`: jobs run in functions of an app on Modal.
 *
 * Theory of operation. Programs that are not in Python reach Modal over HTTPS. So the operator deploys modal_app.py, and this
 * plugin sends it sealed plans and asks for their states. The calls of its functions outlive the engine.
 *
 * A job is submitted under its own name, so a submission whose answer was lost can be sent again
 * without harm; the name of its call is then added to the stored handle. One request asks for the state of all jobs
 * that are due, one request at a time. Results of jobs that have ended are fetched one by one. common/remote_steps.c
 * decides when each request is sent, and what failures lead to.
 */
#include <config.h>

#include "runners/modal/modal.h"

#include <kettle/plugin.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/failpoint.h"
#include "base/json_access.h"
#include "base/xalloc.h"
#include "runners/common/download.h"
#include "runners/common/options.h"
#include "sealed/result_package.h"

#define POLL_JOBS 500 /* in one request */
#define MAX_RESULT (RESULT_PACKAGE_MAX + (1u << 20))

static const struct remote_pace pace = {.first_ms = 250,
	.most_ms = 10000,
	.invalid_answers = 5,
	.absent = 1,
	.finds = 1,
	.fetches = 4 /* results may be large */};

static const struct kettle_option options[] = {
	{.key = "url",
		.type = KETTLE_OPTION_STRING,
		.help =
			"The URL of the app's function `web`, as `modal deploy` prints it; https, or http to this machine itself."},
	{.key = "token_id_env",
		.type = KETTLE_OPTION_STRING,
		.help = "The environment variable with the id of a proxy auth token of Modal (wk-…)."},
	{.key = "token_id_file", .type = KETTLE_OPTION_PATH, .help = "The file with this id, in place of `token_id_env`."},
	{.key = "token_secret_env",
		.type = KETTLE_OPTION_STRING,
		.help = "The environment variable with the secret of that token (ws-…)."},
	{.key = "token_secret_file",
		.type = KETTLE_OPTION_PATH,
		.help = "The file with this secret, in place of `token_secret_env`."},
	KEY_OPTIONS,
	EXEC_ARCHIVE_OPTION,
	INT_OPTION("answer_s", "60", 1, 600, "Seconds that one request may take, with its redirects."),
	INT_OPTION(
		"send_s", "60", 1, 3600, "Seconds for which the runner tries to submit a job, after which the job is lost."),
	INT_OPTION(
		"quiet_s", "600", 1, 86400, "Seconds without an answer about a submitted job, after which the job is lost."),
};

static const struct kettle_option unit_options[] = {
	{.key = "function",
		.type = KETTLE_OPTION_STRING,
		.required = true,
		.help = "The device of modal_app.py whose function runs the unit's jobs."},
};

/* A job's own data. */
struct call {
	struct modal_request *request; /* to submit, find, cancel or fetch the job */
	struct download answer;        /* while its result is fetched */
	bool poll_queued;              /* in the next request for states */
	bool polled;                   /* in the request under way */
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
	const char *file = body ? NULL : call->answer.path;
	call->request =
		api_send(job->remote->self, path, key, body, size, file ? MAX_RESULT : ANSWER_MAX_JSON, file, done, job, &err);
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
		remote_lost(job, KETTLE_LOSS_MISCONFIGURED, "The runner could not submit the job: %s", reply->why);
	else if (reply->kind == REPLY_ANSWERED && reply->status >= 400)
		remote_lost(job, KETTLE_LOSS_NODE_FAULT, "The runner could not submit the job: %s", reply->why);
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
			"The runner could not submit the job: its plan has %zu bytes, and one request to Modal takes %u.",
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
		remote_update(job, REMOTE_ABSENT, "Modal does not have the job: it was not submitted before the engine ended.");
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

static void
take_state(struct remote_job *job, const struct modal_reply *reply)
{
	enum remote_status status = answer_state(reply, call_name(job));
	((struct call *)job->own)->polled = false;
	if (status == REMOTE_ENDED)
		failpoint("modal.ended");
	if (status == REMOTE_INVALID)
		tell_failure(job, reply, "it does not tell the state of a call.");
	else
		remote_update(job, status, status == REMOTE_NO_ANSWER ? "it cannot tell the state of a call." : NULL);
}

static bool
is_polled(const struct remote_job *job)
{
	return job->awaiting && job->phase == REMOTE_SUBMITTED && !job->cancelled && call_name(job);
}

static void flush(struct remote *remote);

static void
take_poll(struct remote_job *job, void *arg)
{
	struct call *call = job->own;
	if (call && call->polled && is_polled(job))
		take_state(job, arg);
	else if (call)
		call->polled = false;
}

static void
on_polled(void *arg, const struct modal_reply *reply)
{
	struct modal *modal = arg;
	modal->poll = NULL;
	remote_each(&modal->remote, take_poll, (void *)reply);
	flush(&modal->remote);
}

/* Sends one request for the jobs that wait for one, unless one is under way. */
static void
flush(struct remote *remote)
{
	struct modal *modal = remote->self;
	struct kettle_error err = {0};
	AUTO_JSON json_t *ids = json_array();
	for (const struct remote_job *job = modal->poll ? NULL : remote->jobs; job && json_array_size(ids) < POLL_JOBS;
		 job = job->next) {
		struct call *call = job->own;
		if (!call || !call->poll_queued)
			continue;
		call->poll_queued = false;
		call->polled = is_polled(job);
		if (call->polled)
			json_array_append(ids, json_object_get(job->handle, "call"));
	}
	if (json_array_size(ids) == 0)
		return;
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
		remote_report(job, (json_t *)reply->json, MODAL_NO_SENSE);
	else
		remote_report(job, NULL, reply->why);
}

static void
ask(struct remote_job *job)
{
	struct call *call = job->own;
	AUTO_FREE char *path = xasprintf("/result/%s", call_name(job));
	if (job->report)
		send_request(job, path, NULL, NULL, 0, on_report);
	else
		call->poll_queued = true;
}

/* ---- results ---- */

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
		remote_update(job, REMOTE_ABSENT, "Modal no longer has the result of the job: it keeps results for 7 days.");
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

/* ---- the status ---- */

static char *
where(const struct remote_job *job)
{
	return call_name(job) ? xstrdup(call_name(job)) : NULL;
}

static void
on_health(void *arg, const struct modal_reply *reply)
{
	struct remote_job *job = arg;
	bool answered = reply->kind == REPLY_ANSWERED && reply->status == 200;
	ended_request(job);
	if (!answered || !reply->json) {
		remote_report(job, NULL, answered ? MODAL_NO_SENSE : reply->why);
		return;
	}
	AUTO_FREE char *text = answer_health(reply->json);
	AUTO_JSON json_t *answer = json_pack("{s:o, s:s}", "jobs", remote_list(job->remote, where), "text", text);
	remote_report(job, answer, NULL);
}

static void
ask_health(struct remote_job *job)
{
	(void)begin(job);
	send_request(job, "/health", NULL, NULL, 0, on_health);
}

static int
check_unit(struct remote *remote, const json_t *unit, struct kettle_error *err)
{
	(void)remote;
	if (modal_is_name(json_text_or_empty(json_object_get(unit, "options"), "function")))
		return 0;
	return kettle_fail(err, KETTLE_EINVAL,
		"A unit of the runner for Modal needs `options: {function: NAME}`, a name of up to %d letters, digits, _ and "
		"-.",
		MODAL_MAX_NAME);
}

/* `init` works without these settings. */
static int
check(struct remote *remote, struct kettle_error *err)
{
	const struct modal *modal = remote->self;
	bool token = modal->key && modal->secret;
	if (modal->url && token)
		return 0;
	return kettle_fail(err, KETTLE_EUNAVAIL, "%s%s%s",
		modal->url ? "" : "The runner for Modal has no `url`: deploy modal_app.py, and give the URL of its app.",
		modal->url || token ? "" : " ",
		token ? "" : "The runner for Modal has no token: name its parts with `token_id_env` and `token_secret_env`.");
}

static bool
end(struct remote *remote)
{
	struct modal *modal = remote->self;
	api_cancel(STEAL(modal->poll));
	return true;
}

static const struct remote_ops remote_ops = {
	.begin = begin,
	.send = submit,
	.find = find,
	.ask = ask,
	.flush = flush,
	.fetch = fetch,
	.cancel = cancel,
	.halt = halt,
	.status = ask_health,
	.end = end,
	.release = release,
	.check = check,
	.check_unit = check_unit,
};

/* ---- the plugin ---- */

static int
create(const struct kettle_host *host, void **ret_self, struct kettle_error *err)
{
	struct modal *modal = xcalloc(1, sizeof(*modal));
	(void)err;
	modal->host = host;
	remote_init(&modal->remote, host, &remote_ops, "Modal", modal);
	modal->remote.pace = pace;
	*ret_self = modal;
	return 0;
}

static void
free_secret(char *text)
{
	if (text)
		explicit_bzero(text, strlen(text));
	free(text);
}

static void
destroy(void *self)
{
	struct modal *modal = self;
	if (!modal)
		return;
	remote_close(&modal->remote);
	json_decref(modal->options);
	free(modal->url);
	free_secret(modal->key);
	free_secret(modal->secret);
	free(modal);
}

/* Makes a header with one part of the token; NULL: the section has none. New string. */
static int
make_header(const json_t *section, const char *option, const char *name, char **ret_header, struct kettle_error *err)
{
	const char *value = json_text_or_null(section, option);
	for (const char *at = value; at && *at; at++)
		if (*at <= ' ' || *at > '~')
			return kettle_blame(err, KETTLE_CAUSE_NONE, option,
				kettle_fail(err, KETTLE_EINVAL, "The secret `%s` is not part of a token of Modal: it must be one word.",
					option));
	*ret_header = value ? xasprintf("%s: %s", name, value) : NULL;
	return 0;
}

static int
configure(void *self, const json_t *section, struct kettle_error *err)
{
	struct modal *modal = self;
	const char *text = json_text_or_null(section, "url");
	AUTO_FREE char *url = text ? remote_url(text) : NULL;
	if (text && !url)
		return kettle_blame(err, KETTLE_CAUSE_NONE, "url",
			kettle_fail(err, KETTLE_EINVAL,
				"`url` must be that of the app, such as https://NAME.modal.run (http for this machine itself), without "
				"user, query and fragment, not `%.200s`.",
				text));
	free_secret(STEAL(modal->key));
	free_secret(STEAL(modal->secret));
	int rc = make_header(section, "token_id", "Modal-Key", &modal->key, err);
	if (rc == 0)
		rc = make_header(section, "token_secret", "Modal-Secret", &modal->secret, err);
	if (rc == 0)
		rc = remote_configure(&modal->remote, section, err);
	if (rc < 0)
		return rc;
	free(modal->url);
	modal->url = STEAL(url);
	modal->answer_ms = (uint64_t)member_int(section, "answer_s") * 1000;
	modal->remote.pace.send_ms = (uint64_t)member_int(section, "send_s") * 1000;
	modal->remote.pace.quiet_ms = (uint64_t)member_int(section, "quiet_s") * 1000;
	json_decref(modal->options);
	modal->options = json_pack("{s:O*}", "exec_archive", json_object_get(section, "exec_archive"));
	return 0;
}

static int
init(void *self, const json_t *args, kettle_answer done, void *arg, struct kettle_error *err)
{
	const struct modal *modal = self;
	return init_run(modal->remote.host, modal->options, args, init_write, done, arg, err);
}

static const struct kettle_runner runner = {
	REMOTE_RUNNER(unit_options),
	.submit = remote_submit,
	.init = init,
	.status = remote_status,
	.check = remote_check,
};

KETTLE_EXPORT const struct kettle_plugin kettle_plugin = {
	KETTLE_PLUGIN_HEAD(KETTLE_RUNNER),
	.name = "modal",
	.version = PACKAGE_VERSION,
	.summary = "runs jobs on Modal, in functions of an app that the operator deploys",
	KETTLE_PLUGIN_OPTIONS(options),
	.create = create,
	.configure = configure,
	.start = remote_start,
	.stop = remote_stop,
	.destroy = destroy,
	.runner = &runner,
};
