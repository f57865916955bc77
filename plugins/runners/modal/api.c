/* SPDX-License-Identifier: MIT */
/* Requests to modal_app.py: credentials, redirects, and what an answer means. */
#include <config.h>

#include "runners/modal/api.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json_access.h"
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

/* Whether the answer is the app's: a redirect to another host loses the credentials, and what it says counts for nothing. */
static bool
is_ours(const struct modal *modal, const char *url)
{
	const char *host = strstr(modal->url, "://");
	const char *path = host ? strchr(host + 3, '/') : NULL;
	size_t size = path ? (size_t)(path - modal->url) : strlen(modal->url);
	return url && strncasecmp(url, modal->url, size) == 0 && (url[size] == '/' || url[size] == '?' || !url[size]);
}

static struct api_reply
judge(const struct modal *modal, const struct kettle_http_answer *answer, const json_t *json,
	struct kettle_error *ret_why)
{
	const char *error = member_string(json, "error");
	int status = answer->status;
	struct api_reply reply = {
		.status = status, .json = json, .body = answer->body, .size = answer->body_size, .why = ret_why->message};
	if (!is_ours(modal, answer->url)) {
		reply.kind = API_GARBAGE;
		(void)kettle_fail(ret_why, KETTLE_EIO, "Modal sent a request on to another host than that of `url`.");
	} else if (status == 401 || status == 403) {
		reply.kind = API_REFUSED;
		(void)kettle_fail(ret_why, KETTLE_EACCES,
			"Modal answered %d: it did not take the token of `token_id` and `token_secret`.", status);
	} else if (status == 200 || status == 202) {
		reply.kind = API_ANSWERED;
	} else if (status >= 400 && status < 500 && status != 408 && status != 429 && error) {
		reply.kind = API_ANSWERED;
		(void)kettle_fail(ret_why, KETTLE_EUNAVAIL, "modal_app.py answered %d: %s", status, error);
	} else {
		bool later = status == 404 || status == 408 || status == 429 || status >= 500;
		reply.kind = later ? API_SILENT : API_GARBAGE;
		(void)kettle_fail(ret_why, KETTLE_EUNAVAIL, "Modal answered %d: %s", status,
			error           ? error
			: status == 404 ? "there is no app at `url`."
							: "it gave no reason.");
	}
	return reply;
}

static void
on_http(void *arg, const struct kettle_error *err, const struct kettle_http_answer *answer)
{
	struct modal_request *request = arg;
	struct modal *modal = request->modal;
	struct kettle_error why = {0};
	AUTO_JSON json_t *json = NULL;
	struct api_reply reply;
	if (err->code < 0) {
		reply = api_no_reply(err);
	} else {
		if (answer->body_size <= API_MAX_JSON)
			json = json_loadb(answer->body, answer->body_size, 0, NULL);
		reply = judge(modal, answer, json_is_object(json) ? json : NULL, &why);
	}
	if (reply.kind == API_REFUSED)
		modal->host->credential(modal->host, why.message);
	else if (reply.kind == API_ANSWERED)
		modal->host->credential(modal->host, NULL);
	api_fn done = request->done;
	void *done_arg = request->arg;
	free(request);
	done(done_arg, &reply);
}

struct modal_request *
api_send(struct modal *modal, const char *path, const char *job, const void *body, size_t size, size_t max_answer,
	api_fn done, void *arg, struct kettle_error *err)
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

struct api_reply
api_no_reply(const struct kettle_error *err)
{
	bool garbage = err->code == KETTLE_EIO || err->code == KETTLE_ETOOBIG;
	return (struct api_reply){.kind = garbage ? API_GARBAGE : API_SILENT, .why = err->message};
}

const char *
api_call(const struct api_reply *reply, const char **ret_why)
{
	const char *id = member_string(reply->json, "id");
	json_int_t interface = member_int(reply->json, "interface");
	size_t size = id ? strlen(id) : 0, plain = 0;
	while (plain < size && (isalnum((unsigned char)id[plain]) || id[plain] == '-' || id[plain] == '_'))
		plain++;
	*ret_why = NULL;
	if (size > 0 && plain == size && size <= API_MAX_NAME && interface == MODAL_INTERFACE)
		return id;
	*ret_why =
		id && interface > 0 && interface != MODAL_INTERFACE
			? "modal_app.py is of another version of Kettle: write it anew with `kettle runner init` and deploy it."
			: "Modal answered with something that modal_app.py does not say.";
	return NULL;
}

bool
api_unknown(const struct api_reply *reply)
{
	return reply->kind == API_ANSWERED && reply->status == 404 && member_is(reply->json, "state", "unknown");
}
