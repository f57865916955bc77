/* SPDX-License-Identifier: MIT */
/* The sender of a request. */
#include <config.h>

#include "web/visit/caller.h"

#include "base/base.h"
#include "base/text.h"
#include "common/recent.h"

#define HASH_SIZE 65
#define TOKEN_MAX 512
#define SCHEME "Bearer "
#define LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_" /* that tokens have */

/* A token that is being checked. */
struct check {
	struct web *web;
	char hash[HASH_SIZE];
	uint64_t generation;
	caller_fn done;
	void *arg;
};

int64_t
callers_ms_until(const struct kettle_host *host, const char *end)
{
	int64_t now_ms = host->utc_ms(host), end_ms = now_ms;
	AUTO_FREE char *seconds = xasprintf("%.19s", end);
	(void)time_parse_deadline(seconds, now_ms, &end_ms, NULL);
	return end_ms - now_ms;
}

static void
on_checked(void *arg, const struct kettle_error *err, json_t *result)
{
	AUTO_FREE struct check *check = arg;
	AUTO_JSON json_t *actor = json_copy(json_object_get(result, "actor"));
	const char *expires = json_text_or_null(result, "expires");
	json_object_set(actor, STORED_ROLE, json_object_get(result, "role"));
	int64_t left_ms = expires ? callers_ms_until(check->web->host, expires) : CALLERS_KEEP_MS;
	if (err->code == 0)
		recent_put(check->web->tokens, check->hash, json_incref(actor),
			left_ms < CALLERS_KEEP_MS ? left_ms : CALLERS_KEEP_MS, check->generation);
	check->done(check->arg, actor, err);
}

static void
check_token(struct web *web, const char *token, caller_fn done, void *arg)
{
	struct check *check = xmalloc(sizeof(*check));
	struct kettle_error err = {0};
	*check = (struct check){.web = web, .generation = recent_generation(web->tokens), .done = done, .arg = arg};
	sha256_hex(token, strlen(token), check->hash);
	AUTO_JSON json_t *actor = recent_get(web->tokens, check->hash), *args = json_pack("{s:s}", "token", token);
	const struct kettle_request request = {.size = sizeof(request),
		.actor = web->anonymous,
		.command = "token.check",
		.args = args,
		.done = on_checked,
		.arg = check};
	if (actor || web->host->request(web->host, &request, NULL, &err) < 0) {
		free(check);
		done(arg, actor, &err);
	}
}

const char *
callers_bearer(const struct http_request *request)
{
	const char *header = http_header_value(request, "Authorization");
	if (!header || !*header)
		return NULL;
	return strncasecmp(header, SCHEME, strlen(SCHEME)) == 0 && header[strlen(SCHEME)] ? header + strlen(SCHEME) : "!";
}

/* ---- cookies ---- */

static bool
is_https(const struct web *web)
{
	return strncmp(json_text_or_empty(web->options, "url"), "https://", strlen("https://")) == 0;
}

char *
session_cookie(const struct web *web, const char *name, const char *value, long seconds)
{
	bool secure = is_https(web);
	return xasprintf("%s%s=%s; Path=/; HttpOnly; SameSite=Lax; Max-Age=%ld%s", secure ? "__Host-" : "", name, value,
		seconds, secure ? "; Secure" : "");
}

const char *
session_cookie_value(const struct web *web, const struct http_request *request, const char *name)
{
	AUTO_FREE char *whole = xasprintf("%s%s", is_https(web) ? "__Host-" : "", name);
	const char *value = http_cookie_value(request, whole);
	return value ? value : "";
}

const char *
callers_token(const struct web *web, const struct http_request *request)
{
	const char *token = callers_bearer(request);
	const char *session = http_reads(request) ? session_cookie_value(web, request, SESSION) : "";
	return token ? token : *session ? session : NULL;
}

/* ---- tokens ---- */

void
callers_identify(struct web *web, const char *token, caller_fn done, void *arg)
{
	struct kettle_error err = {0};
	if (!token || !*token) {
		done(arg, web->anonymous, &err);
	} else if (strlen(token) > TOKEN_MAX || token[strspn(token, LETTERS)]) {
		(void)kettle_fail(&err, KETTLE_EACCES,
			"The credential is not a token: make one with `kettle token create`, and send it as `Authorization: Bearer "
			"TOKEN`.");
		done(arg, NULL, &err);
	} else {
		check_token(web, token, done, arg);
	}
}

void
callers_event(struct web *web, const json_t *event)
{
	static const char *const ends[] = {"token.", "login.", "user.", "reset"};
	const char *kind = json_text_or_empty(event, "kind");
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++)
		if (strncmp(kind, ends[i], strlen(ends[i])) == 0) {
			recent_forget(web->tokens);
			return;
		}
}
