/* SPDX-License-Identifier: MIT */
/* Requests to modal_app.py, and the meaning of its answers. */
#include <config.h>

#include "runners/modal/modal.h"

#include "base/base.h"
#include "base/bounded_json.h"
#include "base/buf.h"
#include "base/utf8.h"

#define CONNECT_MS 10000
/* Modal's proxy redirects a request that takes long to the place of its result, every 150 s. */
#define MAX_REDIRECTS 5
#define MAX_SHOWN 100 /* characters of a text in a health answer */
#define MAX_ERROR 600 /* bytes of the app's own sentence */

/* ---- answers ---- */

/*
 * Whether the answer comes from the app. A redirect to another host loses the credentials, and its answer does not
 * count.
 */
static bool
is_ours(const char *app_url, const char *url)
{
	const char *host = strstr(app_url, "://");
	const char *path = host ? strchr(host + 3, '/') : NULL;
	size_t size = path ? (size_t)(path - app_url) : strlen(app_url);
	return url && strncasecmp(url, app_url, size) == 0 && (url[size] == '/' || url[size] == '?' || !url[size]);
}

/* Judges a status other than 200, 202, 401 and 403. */
static enum reply_kind
judge_failure(int status, const char *error, struct kettle_error *ret_why)
{
	bool later = status == 408 || status == 429 || status >= 500;
	if (status >= 400 && !later && error) {
		(void)kettle_fail(ret_why, KETTLE_EUNAVAIL, "modal_app.py answered %d: %s", status, error);
		return REPLY_ANSWERED;
	}
	const char *reason = error ? error : status == 404 ? "there is no app at `url`." : "it gave no reason.";
	(void)kettle_fail(ret_why, KETTLE_EUNAVAIL, "Modal answered %d: %s", status, reason);
	return later || status == 404 ? REPLY_SILENT : REPLY_GARBAGE;
}

struct modal_reply
answer_judge(
	const char *app_url, const struct kettle_http_answer *answer, json_t **ret_json, struct kettle_error *ret_why)
{
	int status = answer->status;
	AUTO_JSON json_t *json = answer->body && answer->body_size <= ANSWER_MAX_JSON
								 ? bounded_json_parse(answer->body, answer->body_size, BOUNDED_JSON_VALUES, 0, NULL)
								 : NULL;
	AUTO_FREE char *error =
		json_text_or_null(json, "error") ? sanitize_line(json_text_or_null(json, "error"), MAX_ERROR) : NULL;
	struct modal_reply reply = {.status = status, .why = ret_why->message};
	*ret_json = STEAL(json);
	reply.json = *ret_json;
	if (!is_ours(app_url, answer->url)) {
		reply.kind = REPLY_GARBAGE;
		(void)kettle_fail(ret_why, KETTLE_EIO, "Modal sent a request on to another host than that of `url`.");
	} else if (status == 401 || status == 403) {
		reply.kind = REPLY_REFUSED;
		(void)kettle_fail(ret_why, KETTLE_EACCES,
			"Modal answered %d: it refuses the token (`token_id_file` and `token_secret_file`, or `_env`).", status);
	} else if (status == 200 || status == 202) {
		reply.kind = REPLY_ANSWERED;
	} else {
		reply.kind = judge_failure(status, error, ret_why);
	}
	return reply;
}

struct modal_reply
answer_missing(const struct kettle_error *err)
{
	bool garbage = err->code == KETTLE_ETOOBIG; /* EIO: it broke off, perhaps for as long as a proxy is faulty */
	return (struct modal_reply){.kind = garbage ? REPLY_GARBAGE : REPLY_SILENT, .why = err->message};
}

static bool
is_said(const struct modal_reply *reply)
{
	return reply->kind == REPLY_ANSWERED && reply->status == 200;
}

const char *
answer_call(const struct modal_reply *reply, const char **ret_why)
{
	const char *id = is_said(reply) ? json_text_or_null(reply->json, "id") : NULL;
	json_int_t interface = member_int(reply->json, "interface");
	size_t size = id ? strspn(id, MODAL_NAME_CHARACTERS) : 0;
	*ret_why = NULL;
	if (size > 0 && !id[size] && size <= ANSWER_MAX_NAME && interface == MODAL_INTERFACE)
		return id;
	if (!is_said(reply) && reply->why && reply->why[0])
		*ret_why = reply->why;
	else if (id && interface > 0 && interface != MODAL_INTERFACE)
		*ret_why =
			"modal_app.py is of another version of Kettle: write it anew with `kettle runner init` and deploy it.";
	else
		*ret_why = MODAL_NO_SENSE;
	return NULL;
}

enum remote_status
answer_state(const struct modal_reply *reply, const char *call)
{
	static const struct {
		const char *text;
		enum remote_status state;
	} states[] = {{"starting", REMOTE_PENDING}, {"running", REMOTE_RUNNING}, {"later", REMOTE_NO_ANSWER},
		{"done", REMOTE_ENDED}, {"failed", REMOTE_ENDED}, {"unknown", REMOTE_ENDED}};
	const char *text = is_said(reply) ? json_text_or_empty(json_object_get(reply->json, "calls"), call) : "";
	for (size_t i = 0; i < ARRAY_SIZE(states); i++)
		if (strcmp(text, states[i].text) == 0)
			return states[i].state;
	return REMOTE_INVALID;
}

bool
answer_unknown(const struct modal_reply *reply)
{
	return reply->kind == REPLY_ANSWERED && reply->status == 404 && member_is(reply->json, "state", "unknown");
}

static void
add_text(struct buf *out, const char *before, const char *text, const char *after)
{
	AUTO_FREE char *line = sanitize_line(text, MAX_SHOWN);
	buf_printf(out, "%s%s%s", before, line, after);
}

char *
answer_health(const json_t *health)
{
	struct buf text = {0};
	size_t i;
	const json_t *device;
	if (json_text_or_null(health, "version"))
		add_text(&text, "kettle-exec ", json_text_or_empty(health, "version"), "");
	else
		buf_adds(&text, "modal_app.py gives no version");
	json_array_foreach(json_object_get(health, "devices"), i, device) {
		const json_t *queue = json_object_get(device, "queue");
		if (i == ANSWER_MAX_DEVICES)
			break;
		add_text(&text, "; ", json_text_or_empty(device, "name"), "");
		if (json_text_or_null(device, "gpu"))
			add_text(&text, " (", json_text_or_empty(device, "gpu"), ")");
		if (json_is_object(queue))
			buf_printf(&text, ": %lld waiting, %lld running", (long long)member_int(queue, "waiting"),
				(long long)member_int(queue, "running"));
	}
	return buf_take(&text);
}

/* ---- requests ---- */

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
	free_all(request->app_url, request->url, request->body, request);
}

static void
end_request(struct modal_request *request)
{
	const struct modal *modal = request->modal;
	const struct modal_reply *reply = &request->reply;
	if (reply->kind == REPLY_REFUSED)
		modal->remote.host->credential(modal->remote.host, request->why.message);
	else if (reply->kind == REPLY_ANSWERED)
		modal->remote.host->credential(modal->remote.host, NULL);
	bool reached = reply->kind == REPLY_ANSWERED || reply->kind == REPLY_GARBAGE;
	modal->remote.host->reached(modal->remote.host, NULL, reached ? NULL : reply->why);
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
	const struct kettle_host *host = request->modal->remote.host;
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
	struct modal_request *request = xnew(struct modal_request, .modal = modal, .done = done, .arg = arg);
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
	if (modal->remote.host->http(modal->remote.host, &http, &request->id, err) == 0)
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
	request->modal->remote.host->http_cancel(request->modal->remote.host, request->id);
	free_request(request);
}
