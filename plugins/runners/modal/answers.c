/* SPDX-License-Identifier: MIT */
/* The meaning of answers of modal_app.py, and of Modal in its place. */
#include <config.h>

#include "runners/modal/answers.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/bounded_json.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/json_access.h"
#include "base/sanitize_text.h"

#define NO_SENSE "Modal answered with something that modal_app.py does not say."
#define MAX_SHOWN 100 /* characters of a text in a health answer */
#define MAX_ERROR 600 /* bytes of the app's own sentence */

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
			"Modal answered %d: it did not take the token of `token_id` and `token_secret`.", status);
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
	size_t size = id ? strlen(id) : 0, plain = 0;
	while (plain < size && (isalnum((unsigned char)id[plain]) || id[plain] == '-' || id[plain] == '_'))
		plain++;
	*ret_why = NULL;
	if (size > 0 && plain == size && size <= ANSWER_MAX_NAME && interface == MODAL_INTERFACE)
		return id;
	if (!is_said(reply) && reply->why && reply->why[0])
		*ret_why = reply->why;
	else if (id && interface > 0 && interface != MODAL_INTERFACE)
		*ret_why =
			"modal_app.py is of another version of Kettle: write it anew with `kettle runner init` and deploy it.";
	else
		*ret_why = NO_SENSE;
	return NULL;
}

enum call_state
answer_state(const struct modal_reply *reply, const char *call)
{
	static const struct {
		const char *text;
		enum call_state state;
	} states[] = {{"starting", CALL_STARTING}, {"running", CALL_RUNNING}, {"later", CALL_LATER}, {"done", CALL_ENDED},
		{"failed", CALL_ENDED}, {"unknown", CALL_ENDED}};
	const char *text = is_said(reply) ? json_text_or_empty(json_object_get(reply->json, "calls"), call) : "";
	for (size_t i = 0; i < ARRAY_SIZE(states); i++)
		if (strcmp(text, states[i].text) == 0)
			return states[i].state;
	return CALL_UNSAID;
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
		buf_adds(&text, "modal_app.py says no version");
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
