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

#include "base/base.h"
#include "base/buf.h"
#include "base/failpoint.h"
#include "base/number.h"
#include "runners/common/download.h"
#include "runners/common/exec_archive.h"
#include "runners/common/init_files.h"
#include "runners/common/options.h"
#include "sealed/result_package.h"

#define POLL_JOBS 500 /* in one request */
#define MAX_RESULT (RESULT_PACKAGE_MAX + (1u << 20))
#define MAX_NAME 60 /* of a function, an app or a secret */
#define MIN_TIMEOUT 60
#define MAX_TIMEOUT 86400

extern const char modal_app_text[]; /* modal_app.py */

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
	BUILD_OPTION,
};

/* A job's own data. */
struct call {
	struct modal_request *request; /* to submit, find, cancel or fetch the job */
	struct download answer;        /* while its result is fetched */
	bool polled;                   /* the request for states under way asks for it */
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
	if (job->envelope_size > API_MAX_REQUEST && remote_send_whole(job))
		return;
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

/* Whether the job waits for its state, by this request or the next one. */
static bool
is_asked(const struct remote_job *job)
{
	return job->awaiting && job->phase == REMOTE_SUBMITTED && !job->cancelled && !job->report && call_name(job);
}

static void flush(struct remote *remote);

static void
take_poll(struct remote_job *job, void *arg)
{
	struct call *call = job->own;
	if (call && call->polled && is_asked(job))
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
		if (!call || !is_asked(job))
			continue;
		call->polled = true;
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

/* flush asks for all jobs together. */
static void
ask(struct remote_job *job)
{
	AUTO_FREE char *path = xasprintf("/result/%s", call_name(job));
	if (job->report)
		send_request(job, path, NULL, NULL, 0, on_report);
}

/* ---- results ---- */

static void
take_result(struct remote_job *job)
{
	struct call *call = job->own;
	struct kettle_error err = {0};
	int fd = -1;
	if (download_open(&call->answer, &fd, &err) == 0)
		remote_result(job, fd, NULL);
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

/* Whether the text is up to 60 letters, digits, _ and -, as modal_app.py takes for a name. */
static bool
is_name(const char *text)
{
	size_t size = strspn(text, MODAL_NAME_CHARACTERS);
	return size > 0 && size <= MAX_NAME && !text[size];
}

static int
check_unit(struct remote *remote, const json_t *unit, struct kettle_error *err)
{
	(void)remote;
	if (is_name(json_text_or_empty(json_object_get(unit, "options"), "function")))
		return 0;
	return kettle_fail(err, KETTLE_EINVAL,
		"A unit of the runner for Modal needs `options: {function: NAME}`, a name of up to %d letters, digits, _ and "
		"-.",
		MAX_NAME);
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

/* ---- `kettle runner init`: the app with its configuration, and the archive of kettle-exec ---- */

/* Splits "a,b"; new reference. NULL: not given. */
static json_t *
split(const char *text)
{
	json_t *parts = text ? json_array() : NULL;
	for (const char *part = text; part && *part;) {
		size_t size = strcspn(part, ",");
		if (size > 0)
			json_array_append_new(parts, json_stringn(part, size));
		part += size + (part[size] == ',');
	}
	return parts;
}

/* Adds the device "NAME=GPU", or "NAME" for one without a GPU. */
static int
add_device(json_t *devices, const char *text, const json_t *common, struct kettle_error *err)
{
	const char *gpu = strchr(text, '=');
	AUTO_FREE char *name = xasprintf("%.*s", gpu ? (int)(gpu - text) : (int)strlen(text), text);
	if (!is_name(name) || (gpu && !gpu[1]))
		return kettle_fail(err, KETTLE_EINVAL,
			"`%s` in `devices` is not NAME=GPU, or NAME for one without a GPU; a name has up to %d letters, digits, _ "
			"and -.",
			text, MAX_NAME);
	json_t *device = json_pack("{s:s, s:s*}", "name", name, "gpu", gpu ? gpu + 1 : NULL);
	json_object_update(device, (json_t *)common);
	json_array_append_new(devices, device);
	return 0;
}

static int
make_devices(const json_t *args, json_t **ret_devices, struct kettle_error *err)
{
	const char *timeout_text = init_option(args, "timeout"), *given = init_option(args, "devices");
	long long timeout = 900;
	if (timeout_text &&
		(!number_parse_integer(timeout_text, &timeout) || timeout < MIN_TIMEOUT || timeout > MAX_TIMEOUT))
		return kettle_fail(err, KETTLE_EINVAL, "`timeout` must be %d to %d seconds, not `%s`.", MIN_TIMEOUT,
			MAX_TIMEOUT, timeout_text);
	AUTO_JSON json_t *apt = split(init_option(args, "apt")), *packages = split(init_option(args, "packages"));
	AUTO_JSON json_t *common = json_pack("{s:I, s:s*, s:s*, s:O*, s:O*}", "timeout", (json_int_t)timeout, "image",
		init_option(args, "image"), "python", init_option(args, "python"), "apt", apt, "packages", packages);
	AUTO_JSON json_t *names = split(given), *devices = json_array();
	json_array_each(names, text) {
		int rc = add_device(devices, json_string_value(text), common, err);
		if (rc < 0)
			return rc;
	}
	if (json_array_size(devices) == 0)
		return kettle_fail(err, KETTLE_EINVAL,
			"Name the devices: `--option devices=H100=H100,big=B200:2`, each with Modal's name of its GPU.");
	*ret_devices = STEAL(devices);
	return 0;
}

/* Returns the app with this configuration; new text. */
static char *
configured(const json_t *configuration)
{
	static const char before[] = "CONFIGURATION = json.loads(r'''\n", after[] = "\n''')\n";
	AUTO_FREE char *text = json_dumps(configuration, JSON_INDENT(1) | JSON_ENSURE_ASCII);
	const char *from = strstr(modal_app_text, before) + strlen(before);
	const char *to = strstr(from, after);
	struct buf out = {0};
	buf_add(&out, modal_app_text, (size_t)(from - modal_app_text));
	/* The text goes into a raw string of Python, which a quote could end. */
	for (const char *at = text; *at; at++)
		if (*at == '\'')
			buf_adds(&out, "\\u0027");
		else
			buf_add(&out, at, 1);
	buf_adds(&out, to);
	return buf_take(&out);
}

static void
say_next(struct init *init, const char *secret)
{
	const char *folder = json_text_or_empty(init->args, "folder");
	init_say(init, "Check the devices at the top of %s/modal_app.py: GPUs, images, packages, timeouts.", folder);
	init_say(init,
		"Make a key, for Kettle (`key_env` or `key_file`) and, as KETTLE_KEY, for Modal: `(umask 077; openssl rand "
		"-base64 32 >modal.key; echo KETTLE_KEY=$(cat modal.key) >modal.env); modal secret create %s --from-dotenv "
		"modal.env; rm modal.env`.",
		secret);
	init_say(init,
		"Deploy: `cd %s && modal deploy modal_app.py`. The URL that it prints for `web` is the runner's `url`.",
		folder);
	init_say(init, "Create a proxy auth token in the workspace's settings on Modal, and name its two parts with "
				   "`token_id_env` and "
				   "`token_secret_env` (or `_file`).");
	init_say(init,
		"Add a device whose unit has `options: {function: NAME}`, and check it with `kettle device doctor NAME`.");
}

static int
init_write(struct init *init, struct kettle_error *err)
{
	static const char *const known[] = {
		"app", "secret", "devices", "timeout", "image", "python", "apt", "packages", NULL};
	const char *app = init_option(init->args, "app"), *secret = init_option(init->args, "secret");
	AUTO_FREE char *path = exec_archive_path(init->section), *archive = NULL, *text = NULL;
	AUTO_JSON json_t *devices = NULL;
	char digest[65];
	size_t size;
	int rc = init_options_check(init->args, known, err);
	if (rc == 0)
		rc = make_devices(init->args, &devices, err);
	if (rc == 0 && ((app && !is_name(app)) || (secret && !is_name(secret))))
		rc = kettle_fail(err, KETTLE_EINVAL, "`app` and `secret` have up to %d letters, digits, _ and -.", MAX_NAME);
	if (rc == 0)
		rc = exec_archive_read(path, &archive, &size, digest, err);
	if (rc < 0)
		return rc;
	secret = secret ? secret : "kettle";
	AUTO_JSON json_t *configuration =
		json_pack("{s:s, s:s, s:{s:s, s:s, s:s}, s:O}", "app", app ? app : "kettle", "secret", secret, "archive",
			"file", EXEC_ARCHIVE_NAME, "sha256", digest, "version", PACKAGE_VERSION, "devices", devices);
	text = configured(configuration);
	rc = init_file_write(init, "modal_app.py", text, strlen(text), 0644, err);
	if (rc == 0)
		rc = init_file_write(init, EXEC_ARCHIVE_NAME, archive, size, 0644, err);
	if (rc == 0)
		say_next(init, secret);
	return rc;
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
	.write_files = init_write,
	.unit_options = unit_options,
	.unit_options_count = ARRAY_SIZE(unit_options),
};

/* ---- the plugin ---- */

static int
create(const struct kettle_host *host, void **ret_self, struct kettle_error *err)
{
	struct modal *modal = xcalloc(1, sizeof(*modal));
	(void)err;
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
	return 0;
}

static const struct kettle_runner runner = {
	REMOTE_RUNNER(unit_options),
	.submit = remote_submit,
	.init = remote_run_init,
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
