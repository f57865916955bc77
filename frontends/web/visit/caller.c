/* SPDX-License-Identifier: MIT */
/* Who sends a request. */
#include <config.h>

#include "web/visit/caller.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/json_access.h"
#include "base/times.h"
#include "base/xalloc.h"

#define HASH_SIZE 65
#define TOKEN_MAX 512
#define SCHEME "Bearer "
#define LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_" /* that tokens have */

struct callers {
	struct web *web;
	pthread_mutex_t lock;
	/* Under the lock. */
	json_t *known;       /* hash of a token → {"actor", "until_ms"} */
	uint64_t generation; /* of what is known: grows when all is forgotten */
};

/* A token that is being checked. */
struct check {
	struct callers *callers;
	char hash[HASH_SIZE];
	uint64_t generation;
	caller_fn done;
	void *arg;
};

/* The actor of a known token, a new reference; NULL: it is not known. */
static json_t *
find(struct callers *callers, const char *hash, uint64_t *ret_generation)
{
	json_int_t now_ms = (json_int_t)callers->web->host->monotonic_ms(callers->web->host);
	(void)pthread_mutex_lock(&callers->lock);
	json_t *entry = json_object_get(callers->known, hash), *actor = NULL;
	if (entry && member_int(entry, "until_ms") > now_ms)
		actor = json_incref(json_object_get(entry, "actor"));
	else if (entry)
		(void)json_object_del(callers->known, hash);
	*ret_generation = callers->generation;
	(void)pthread_mutex_unlock(&callers->lock);
	return actor;
}

/* How long a checked token may be remembered: never beyond its end, which has the form of time_text. */
static int64_t
keep_ms(const struct kettle_host *host, const char *expires)
{
	int64_t now_ms = host->utc_ms(host), end_ms = now_ms;
	AUTO_FREE char *seconds = xasprintf("%.19s", expires ? expires : "");
	if (!expires)
		return CALLERS_KEEP_MS;
	(void)time_parse_deadline(seconds, now_ms, &end_ms, NULL);
	return end_ms - now_ms < CALLERS_KEEP_MS ? end_ms - now_ms : CALLERS_KEEP_MS;
}

/* Remembers a checked token, unless something changed while it was checked. */
static void
keep(const struct check *check, const json_t *token)
{
	struct callers *callers = check->callers;
	const struct kettle_host *host = callers->web->host;
	int64_t until_ms = (int64_t)host->monotonic_ms(host) + keep_ms(host, json_text_or_null(token, "expires"));
	(void)pthread_mutex_lock(&callers->lock);
	if (json_object_size(callers->known) >= CALLERS_MAX)
		(void)json_object_clear(callers->known);
	if (check->generation == callers->generation)
		json_object_set_new(callers->known, check->hash,
			json_pack("{s:O, s:I}", "actor", json_object_get(token, "actor"), "until_ms", (json_int_t)until_ms));
	(void)pthread_mutex_unlock(&callers->lock);
}

static void
on_checked(void *arg, const struct kettle_error *err, json_t *result)
{
	AUTO_FREE struct check *check = arg;
	if (err->code == 0)
		keep(check, result);
	check->done(check->arg, json_object_get(result, "actor"), err);
}

static void
check_token(struct callers *callers, const char *token, caller_fn done, void *arg)
{
	const struct kettle_host *host = callers->web->host;
	const struct kettle_error none = {0};
	struct check *check = xmalloc(sizeof(*check));
	*check = (struct check){.callers = callers, .done = done, .arg = arg};
	sha256_hex(token, strlen(token), check->hash);
	AUTO_JSON json_t *actor = find(callers, check->hash, &check->generation);
	if (actor) {
		free(check);
		done(arg, actor, &none);
		return;
	}
	AUTO_JSON json_t *args = json_pack("{s:s}", "token", token);
	struct kettle_error err = {0};
	const struct kettle_request request = {.size = sizeof(request),
		.actor = callers->web->nobody,
		.command = "token.check",
		.args = args,
		.done = on_checked,
		.arg = check};
	if (host->request(host, &request, NULL, &err) < 0) {
		free(check);
		done(arg, NULL, &err);
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

void
callers_identify(struct callers *callers, const char *token, caller_fn done, void *arg)
{
	struct kettle_error err = {0};
	if (!token || !*token) {
		done(arg, callers->web->nobody, &err);
	} else if (strlen(token) > TOKEN_MAX || token[strspn(token, LETTERS)]) {
		(void)kettle_fail(&err, KETTLE_EACCES,
			"The credential is no token: make one with `kettle token create`, and send it as `Authorization: Bearer "
			"TOKEN`.");
		done(arg, NULL, &err);
	} else {
		check_token(callers, token, done, arg);
	}
}

void
callers_event(struct callers *callers, const json_t *event)
{
	static const char *const ends[] = {"token.", "login.", "user.", "reset"};
	const char *kind = json_text_or_empty(event, "kind");
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++)
		if (strncmp(kind, ends[i], strlen(ends[i])) == 0) {
			(void)pthread_mutex_lock(&callers->lock);
			(void)json_object_clear(callers->known);
			callers->generation++;
			(void)pthread_mutex_unlock(&callers->lock);
			return;
		}
}

struct callers *
callers_new(struct web *web)
{
	struct callers *callers = xcalloc(1, sizeof(*callers));
	*callers = (struct callers){.web = web, .lock = PTHREAD_MUTEX_INITIALIZER, .known = json_object()};
	return callers;
}

void
callers_free(struct callers *callers)
{
	if (!callers)
		return;
	json_decref(callers->known);
	(void)pthread_mutex_destroy(&callers->lock);
	free(callers);
}
