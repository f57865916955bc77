/* SPDX-License-Identifier: MIT */
/* Logins that a user confirms elsewhere. */
#include <config.h>

#include "web/accounts/logins.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/bounded_json.h"
#include "base/cleanup.h"
#include "base/contents.h"
#include "base/hash.h"
#include "base/json_access.h"
#include "base/xalloc.h"
#include "http/form.h"
#include "web/visit/respond.h"
#include "web/visit/visit.h"

#define HASH_SIZE 65
#define INIT_LIMIT_MS 25000 /* clients wait longer */
#define VALUES_MAX 100
#define STATE_MAX 1000 /* bytes */

struct logins {
	struct web *web;
	pthread_mutex_t lock;
	json_t *begun; /* hash of a token → {"code", "expires"}; under the lock */
};

/* ---- what was begun ---- */

static void
remember(struct logins *logins, const json_t *login)
{
	char hash[HASH_SIZE];
	const char *token = json_text_or_empty(login, "token");
	sha256_hex(token, strlen(token), hash);
	(void)pthread_mutex_lock(&logins->lock);
	if (json_object_size(logins->begun) >= LOGINS_MAX)
		(void)json_object_clear(logins->begun);
	json_object_set_new(logins->begun, hash,
		json_pack("{s:O, s:O}", "code", json_object_get(login, "code"), "expires", json_object_get(login, "expires")));
	(void)pthread_mutex_unlock(&logins->lock);
}

/* The address at which a code is confirmed; NULL: the frontend does not know its own. New string. */
static char *
link_of(const struct web *web, const char *code)
{
	const char *url = json_text_or_null(web->options, "url");
	size_t len = url ? strlen(url) : 0;
	return url ? xasprintf("%.*s/link/%s", (int)(len && url[len - 1] == '/' ? len - 1 : len), url, code) : NULL;
}

char *
logins_hint(struct logins *logins, const char *token)
{
	char hash[HASH_SIZE], *hint = NULL;
	sha256_hex(token, strlen(token), hash);
	(void)pthread_mutex_lock(&logins->lock);
	const json_t *login = json_object_get(logins->begun, hash);
	const char *code = json_text_or_empty(login, "code");
	AUTO_FREE char *link = login ? link_of(logins->web, code) : NULL;
	if (link)
		hint = xasprintf("This id is not confirmed yet. Open %s and confirm it (until %.16s UTC).", link,
			json_text_or_empty(login, "expires"));
	else if (login)
		hint = xasprintf(
			"This id is not confirmed yet. Confirm its code %s with `kettle login confirm` (until %.16s UTC).", code,
			json_text_or_empty(login, "expires"));
	(void)pthread_mutex_unlock(&logins->lock);
	return hint;
}

/* ---- beginning ---- */

static void
fail(struct visit *visit, const struct kettle_error *err)
{
	respond_error(visit->request, visit->web->host, err);
}

static void
fail_init(struct visit *visit, const struct kettle_error *err)
{
	struct kettle_error told;
	error_tell(visit->web->host, err, &told);
	AUTO_JSON json_t *value = json_pack("{s:s}", "detail", told.message);
	respond_retry(visit->request, (unsigned)kettle_error_http(err->code), value, err->retry_s);
}

static void
answer(struct visit *visit, json_t *login)
{
	AUTO_FREE char *link = link_of(visit->web, json_text_or_empty(login, "code"));
	const char *token_name = json_text_or_empty(visit->data, "token_name");
	remember(visit->web->logins, login);
	AUTO_JSON json_t *value = json_pack("{s:O, s:O, s:O, s:s?}", token_name, json_object_get(login, "token"), "code",
		json_object_get(login, "code"), "expires", json_object_get(login, "expires"), "confirm_url", link);
	respond_json(visit->request, STATUS_OK, value);
	visit_end(visit);
}

static void
begin(struct visit *visit, json_t *result)
{
	(void)result;
	visit_call_internal(visit, "login.begin",
		json_pack("{s:O, s:s}", "name", json_object_get(visit->data, "name"), "address", http_address(visit->request)),
		answer);
}

void
logins_request(struct web *web, struct http_request *request)
{
	size_t size = 0;
	const char *body = http_body(request, &size);
	AUTO_JSON json_t *value = bounded_json_parse(body, size, VALUES_MAX, JSON_REJECT_DUPLICATES, NULL);
	const char *name = json_text_or_null(value, "name");
	if (http_method(request) != HTTP_POST)
		respond_not_allowed(request, "POST");
	else if (!name || json_object_size(value) != 1)
		respond_refusal(request, STATUS_BAD_REQUEST, kettle_error_name(KETTLE_EINVAL),
			"The body must be {\"name\": what logs in, as the user who confirms reads it}.");
	else
		visit_begin(web, request, NULL, 0, begin, fail, json_pack("{s:s, s:s}", "name", name, "token_name", "token"));
}

void
logins_init(struct web *web, struct http_request *request)
{
	struct kettle_error err = {0};
	struct query query = {0};
	int rc = query_parse(http_query(request), &query, &err);
	const char *provider = rc == 0 ? query_value(&query, "provider") : NULL;
	if (!provider || (strcmp(provider, "discord") != 0 && strcmp(provider, "github") != 0)) {
		AUTO_JSON json_t *value = json_pack("{s:s}", "detail", "The provider must be discord or github.");
		respond_json(request, STATUS_BAD_REQUEST, value);
	} else {
		visit_begin(web, request, NULL, INIT_LIMIT_MS, begin, fail_init,
			json_pack("{s:s, s:s}", "name", "popcorn-cli", "token_name", "state"));
	}
	query_free(&query);
}

/* ---- the return of a provider, as KernelBot's clients lead to it ---- */

/* The client's id in a state: URL-safe base64, unpadded, of {"cli_id", "is_reset"}. NULL: there is none. New string. */
static char *
id_of_state(const char *state)
{
	size_t len = strlen(state), size = 0;
	AUTO_FREE char *coded = xasprintf("%s%.*s", state, (int)(len % 4 ? 4 - len % 4 : 0), "===");
	AUTO_FREE void *text = NULL;
	for (char *at = coded; *at; at++)
		*at = *at == '-' ? '+' : *at == '_' ? '/' : *at;
	if (len > STATE_MAX || base64_decode(coded, strlen(coded), &text, &size) < 0)
		return NULL;
	AUTO_JSON json_t *value = bounded_json_parse(text, size, VALUES_MAX, 0, NULL);
	const char *id = json_text_or_null(value, "cli_id");
	return id ? xstrdup(id) : NULL;
}

/*
 * The state is the client's own, and not signed: who gets somebody to open such an address would act as them. So it says
 * where to confirm the login, and does nothing.
 */
void
logins_return(struct web *web, struct http_request *request)
{
	struct kettle_error err = {0};
	struct query query = {0};
	int rc = query_parse(http_query(request), &query, &err);
	const char *state = rc == 0 ? query_value(&query, "state") : NULL;
	AUTO_FREE char *id = state ? id_of_state(state) : NULL;
	AUTO_FREE char *hint = id ? logins_hint(web->logins, id) : NULL;
	AUTO_JSON json_t *value =
		hint ? json_pack("{s:s, s:s}", "status", "pending", "message", hint)
			 : json_pack("{s:s}", "detail", "The state belongs to no login that is under way: register again.");
	respond_json(request, hint ? STATUS_OK : STATUS_BAD_REQUEST, value);
	query_free(&query);
}

struct logins *
logins_new(struct web *web)
{
	struct logins *logins = xcalloc(1, sizeof(*logins));
	*logins = (struct logins){.web = web, .lock = PTHREAD_MUTEX_INITIALIZER, .begun = json_object()};
	return logins;
}

void
logins_free(struct logins *logins)
{
	if (!logins)
		return;
	json_decref(logins->begun);
	(void)pthread_mutex_destroy(&logins->lock);
	free(logins);
}
