/* SPDX-License-Identifier: MIT */
/*
 * Calls of GitHub's API.
 *
 * Theory of operation. Calls wait in one queue, urgent ones first. api_pump sends each call for which a token is free,
 * and sets a timer for the earliest of the others. Small answers are parsed on the loop, larger ones on a thread of
 * the pool, which has a copy of the bytes. A call that is cancelled meanwhile is freed when the thread is done.
 */
#include <config.h>

#include "runners/github/github.h"

#include "base/base.h"
#include "base/bounded_json.h"
#include "base/list.h"
#include "base/utf8.h"

#define MESSAGE_CHARACTERS 200

enum call_state { CALL_WAITS, CALL_SENT, CALL_PARSED };

struct api_call {
	struct api *api; /* NULL: cancelled while a thread parses */
	struct api_call *next;
	enum call_state state;
	bool change, may_be_done;
	char *method, *url, *body, *etag;
	size_t max_body, token;
	uint64_t tried, id; /* tried: bits of tokens; id: of host->http */
	uint64_t sent_ms;
	api_fn done;
	void *arg;
	const struct kettle_host *host;
	/* The answer. */
	struct kettle_error err;
	int status;
	char *text, *ret_etag, *location, *message;
	size_t size;
	json_t *parsed;
};

struct api {
	const struct kettle_host *host;
	char *base, *version;
	uint32_t total_ms; /* of a request */
	struct tokens tokens;
	struct api_call *calls; /* in the order of sending */
	struct kettle_timer *timer;
	uint64_t timer_at;
};

static uint64_t
now_ms(const struct api *api)
{
	return api->host->monotonic_ms(api->host);
}

/* ---- the queue ---- */

static void
free_call(struct api_call *call)
{
	free_all(
		call->method, call->url, call->body, call->etag, call->text, call->ret_etag, call->location, call->message);
	json_decref(call->parsed);
	free(call);
}

static void
finish_call(struct api_call *call)
{
	const struct api_answer answer = {.status = call->status,
		.body = call->parsed,
		.etag = call->ret_etag,
		.location = call->location,
		.message = call->message ? call->message : "",
		.token = call->token};
	LIST_REMOVE(call->api->calls, call);
	call->done(call->arg, &call->err, call->err.code ? NULL : &answer);
	free_call(call);
}

static void api_pump(void *arg);

/* Runs the queue at that time, or earlier. */
static void
pump_at(struct api *api, uint64_t at)
{
	uint64_t now = now_ms(api);
	if (api->timer && api->timer_at <= at)
		return;
	api->host->timer_stop(api->host, STEAL(api->timer));
	api->timer_at = at;
	(void)api->host->timer_start(api->host, at > now ? at - now : 0, 0, api_pump, api, &api->timer, NULL);
}

/* ---- answers ---- */

/* Runs on the loop or on a thread: touches only the call's own text. */
static void
parse_text(void *arg)
{
	struct api_call *call = arg;
	call->parsed = bounded_json_parse(call->text, call->size, API_VALUES_MAX, 0, NULL);
}

static void
on_parsed(void *arg)
{
	struct api_call *call = arg;
	if (!call->api) {
		free_call(call);
		return;
	}
	if (!call->parsed)
		(void)kettle_fail(&call->err, KETTLE_EIO,
			"GitHub's answer (%d) is not a JSON object of at most %d values, as its API gives; is `url` the API's?",
			call->status, API_VALUES_MAX);
	finish_call(call);
}

static void
take_body(struct api_call *call, const struct kettle_http_answer *answer)
{
	const struct kettle_host *host = call->host;
	call->size = (size_t)answer->body_size;
	call->text = xmemdup(answer->body, call->size + 1);
	call->state = CALL_PARSED;
	if (call->size > API_PARSE_INLINE && host->work(host, parse_text, on_parsed, call, NULL) == 0)
		return;
	parse_text(call);
	on_parsed(call);
}

/* Returns the message of an error answer. New. */
static char *
error_message(const struct kettle_http_answer *answer)
{
	bool readable = answer->body && answer->body_size <= API_PARSE_INLINE && answer->status >= 300;
	AUTO_JSON json_t *body =
		readable ? bounded_json_parse(answer->body, (size_t)answer->body_size, API_VALUES_MAX, 0, NULL) : NULL;
	return sanitize_line(json_text_or_empty(body, "message"), MESSAGE_CHARACTERS);
}

static char *
copy_header(const struct kettle_http_answer *answer, const char *name)
{
	const char *value = kettle_http_header(answer, name);
	return value ? xstrdup(value) : NULL;
}

/* Reports that GitHub refuses a token, and reports again when it accepts all. message: of the answer. */
static void
report_credential(struct api *api, size_t token, int status, const char *message)
{
	AUTO_FREE char *said = NULL;
	if (status == 401)
		said = xasprintf("GitHub refuses token %zu of %zu (401: %s).", token + 1, api->tokens.count, message);
	if (said || (tokens_refused(&api->tokens) == 0 && status < 400))
		api->host->credential(api->host, said);
}

static void
end_sending(struct api_call *call)
{
	if (!call->change)
		return;
	tokens_changed(&call->api->tokens, call->token, call->sent_ms, now_ms(call->api));
	pump_at(call->api, now_ms(call->api) + TOKENS_CHANGE_MS);
}

static void
on_answer(void *arg, const struct kettle_error *err, const struct kettle_http_answer *answer)
{
	struct api_call *call = arg;
	struct api *api = call->api;
	call->id = 0;
	end_sending(call);
	if (err->code < 0) {
		api->host->reached(api->host, NULL, err->message);
		call->err = *err;
		finish_call(call);
		return;
	}
	AUTO_FREE char *message = error_message(answer);
	AUTO_FREE char *broken = answer->status < 500 ? NULL : xasprintf("GitHub answers with status %d.", answer->status);
	api->host->reached(api->host, NULL, broken);
	enum tokens_verdict verdict =
		tokens_answered(&api->tokens, call->token, answer, message, now_ms(api), api->host->utc_ms(api->host));
	report_credential(api, call->token, answer->status, message);
	/* An answer about the request tells more than one about the token or its limits. */
	if (verdict == TOKENS_TAKEN || verdict == TOKENS_HIDDEN) {
		call->status = answer->status;
		free(call->message);
		call->message = STEAL(message);
	}
	if (verdict != TOKENS_TAKEN) {
		/* The call may use this token again only if it was limited, which passes. */
		if (verdict != TOKENS_LIMITED)
			call->tried |= UINT64_C(1) << call->token;
		call->state = CALL_WAITS;
		call->may_be_done = false;
		pump_at(api, 0);
		return;
	}
	call->ret_etag = copy_header(answer, "etag");
	call->location = copy_header(answer, "location");
	bool has_body = answer->status < 300 && answer->status != 202 && answer->status != 204;
	if (has_body)
		take_body(call, answer);
	else
		finish_call(call);
}

/* ---- sending ---- */

static int
send_by(struct api *api, struct api_call *call, size_t token)
{
	AUTO_FREE char *authorization = xasprintf("Authorization: Bearer %s", api->tokens.tokens[token].text);
	AUTO_FREE char *version = xasprintf("X-GitHub-Api-Version: %s", api->version);
	AUTO_FREE char *agent = xasprintf("User-Agent: kettle/%s", api->host->version);
	AUTO_FREE char *match = call->etag ? xasprintf("If-None-Match: %s", call->etag) : NULL;
	const char *headers[8] = {authorization, version, agent, "Accept: application/vnd.github+json"};
	size_t count = 4;
	if (call->body)
		headers[count++] = "Content-Type: application/json";
	if (match)
		headers[count++] = match;
	const struct kettle_http_request request = {.size = sizeof(request),
		.method = call->method,
		.url = call->url,
		.headers = headers,
		.body = call->body,
		.body_size = call->body ? strlen(call->body) : 0,
		.max_body = call->max_body,
		.connect_ms = API_CONNECT_MS,
		.total_ms = api->total_ms,
		.done = on_answer,
		.arg = call};
	int rc = api->host->http(api->host, &request, &call->id, &call->err);
	explicit_bzero(authorization, strlen(authorization));
	return rc;
}

/* Ends a call that no token can send any more: with the answer that an accepted token got, else as refused. */
static void
give_up(struct api_call *call)
{
	if (call->status == 0)
		(void)kettle_fail(&call->err, KETTLE_EACCES, "GitHub refuses %s (401): `token_file` needs a new one.",
			call->api->tokens.count > 1 ? "all tokens" : "the token");
	finish_call(call);
}

/* Whether each token that GitHub accepts now has sent the call, so that waiting does not help. */
static bool
is_hopeless(const struct api_call *call, const struct tokens *tokens, uint64_t now)
{
	for (size_t i = 0; i < tokens->count; i++) {
		bool refused = tokens->tokens[i].refused && tokens->tokens[i].refused_until > now;
		if (!refused && !(call->tried & UINT64_C(1) << i))
			return false;
	}
	return true;
}

static void
api_pump(void *arg)
{
	struct api *api = arg;
	uint64_t now = now_ms(api), earliest = UINT64_MAX;
	struct api_call *call = api->calls;
	api->timer = NULL;
	while (call) {
		struct api_call *next = call->next;
		uint64_t at = UINT64_MAX;
		int token = call->state == CALL_WAITS
						? tokens_choose(&api->tokens, now, call->change, call->token, call->tried, &at)
						: -1;
		if (token >= 0) {
			call->token = (size_t)token;
			call->state = CALL_SENT;
			call->may_be_done = true;
			call->sent_ms = now;
			tokens_sent(&api->tokens, call->token, call->change, now);
			if (send_by(api, call, call->token) < 0) {
				call->err.code = KETTLE_EINVAL;
				pump_at(api, 0); /* a callback may change the queue */
				finish_call(call);
				return;
			}
		} else if (call->state == CALL_WAITS && is_hopeless(call, &api->tokens, now)) {
			pump_at(api, 0);
			give_up(call);
			return;
		}
		earliest = at < earliest ? at : earliest;
		call = next;
	}
	if (earliest < UINT64_MAX)
		pump_at(api, earliest);
}

struct api_call *
api_send(struct api *api, const struct api_request *request)
{
	struct api_call *call = xnew(struct api_call, .api = api, .host = api->host,
		.change = request->method && strcmp(request->method, "GET") != 0,
		.method = xstrdup(request->method ? request->method : "GET"),
		.url = xasprintf("%s%s", api->base, request->path),
		.body = request->body ? json_dumps(request->body, JSON_COMPACT) : NULL,
		.etag = request->etag ? xstrdup(request->etag) : NULL,
		.max_body = request->max_body ? request->max_body : API_BODY_MAX, .token = request->token,
		.done = request->done, .arg = request->arg);
	if (request->urgent) {
		call->next = api->calls;
		api->calls = call;
	} else {
		LIST_APPEND(api->calls, call);
	}
	pump_at(api, 0);
	return call;
}

void
api_cancel(struct api_call *call)
{
	if (call->id) {
		call->host->http_cancel(call->host, call->id);
		end_sending(call);
	}
	LIST_REMOVE(call->api->calls, call);
	if (call->state == CALL_PARSED)
		call->api = NULL; /* now with the thread */
	else
		free_call(call);
}

bool
api_was_sent(const struct api_call *call)
{
	return call->may_be_done;
}

/* ---- life ---- */

int
api_new(const struct kettle_host *host, const json_t *section, uint64_t most_ms, struct api **ret_api,
	struct kettle_error *err)
{
	AUTO_FREE char *base = remote_url(json_text_or_empty(section, "url"));
	const char *version = json_text_or_empty(section, "api_version");
	struct tokens read;
	if (!base)
		return kettle_blame(err, KETTLE_CAUSE_NONE, "url",
			kettle_fail(err, KETTLE_EINVAL,
				"`url` is not the URL of an API, such as https://api.github.com or https://ghe.example/api/v3: "
				"https (http for this machine itself), without user, query and fragment."));
	if (!version[0] || strspn(version, "0123456789-") != strlen(version))
		return kettle_blame(err, KETTLE_CAUSE_NONE, "api_version",
			kettle_fail(err, KETTLE_EINVAL, "`api_version` is not a date such as 2026-03-10."));
	int rc = tokens_read(&read, json_text_or_empty(section, "token"), err);
	if (rc < 0)
		return kettle_blame(err, KETTLE_CAUSE_NONE, "token", rc);
	struct api *api = *ret_api = xcalloc(1, sizeof(*api));
	*api = (struct api){.host = host,
		.base = STEAL(base),
		.version = xstrdup(version),
		.tokens = read,
		.total_ms = (uint32_t)(most_ms < API_TOTAL_MS ? most_ms : API_TOTAL_MS)};
	/* The process before this one may have made a change just now. */
	for (size_t i = 0; i < read.count; i++)
		tokens_changed(&api->tokens, i, now_ms(api), now_ms(api));
	return 0;
}

void
api_stop(struct api *api)
{
	while (api->calls)
		api_cancel(api->calls);
	api->host->timer_stop(api->host, STEAL(api->timer));
}

void
api_free(struct api *api)
{
	if (!api)
		return;
	api_stop(api);
	tokens_free(&api->tokens);
	free_all(api->base, api->version, api);
}

size_t
api_tokens(const struct api *api)
{
	return api->tokens.count;
}

bool
api_is_secure(const struct api *api)
{
	return strncmp(api->base, "https://", 8) == 0;
}

int
api_fail(const struct api_answer *answer, const char *what, struct kettle_error *err)
{
	bool says = answer->message[0] != '\0';
	return kettle_fail(err, KETTLE_EUNAVAIL, "GitHub answered %s with status %d%s%s", what, answer->status,
		says ? ": " : ".", answer->message);
}

int
api_check(
	const struct kettle_error *err, const struct api_answer *answer, const char *what, struct kettle_error *ret_why)
{
	*ret_why = *err;
	return err->code == 0 && answer->status != 200 ? api_fail(answer, what, ret_why) : err->code;
}
