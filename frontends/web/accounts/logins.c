/* SPDX-License-Identifier: MIT */
/* Logins that a user confirms elsewhere. */
#include <config.h>

#include "web/accounts/logins.h"

#include "base/bounded_json.h"
#include "base/base.h"
#include "base/hash.h"
#include "common/recent.h"
#include "web/visit/respond.h"
#include "web/visit/visit.h"

#define HASH_SIZE 65
#define LOGIN_MS 600000 /* for which one waits for its confirmation */
#define VALUES_MAX 100

/* ---- what was begun ---- */

/* The address at which a code is confirmed; NULL: the frontend does not know its own. New string. */
static char *
link_of(const struct web *web, const char *code)
{
	AUTO_FREE char *path = xasprintf("/link/%s", code);
	return json_text_or_null(web->options, "url") ? web_address(web, path) : NULL;
}

char *
logins_hint(struct web *web, const char *token)
{
	char hash[HASH_SIZE];
	sha256_hex(token, strlen(token), hash);
	AUTO_JSON json_t *login = recent_get(web->logins, hash);
	const char *code = json_text_or_empty(login, "code");
	AUTO_FREE char *link = login ? link_of(web, code) : NULL;
	AUTO_FREE char *how = link ? xasprintf("Open %s and confirm it", link)
							   : xasprintf("Confirm its code %s with `kettle login confirm`", code);
	return login ? xasprintf(
					   "This id is not confirmed yet. %s (until %.16s UTC).", how, json_text_or_empty(login, "expires"))
				 : NULL;
}

/* ---- beginning ---- */

static void
answer(struct visit *visit, json_t *result)
{
	char hash[HASH_SIZE];
	const json_t *login = json_object_get(visit->data, "login"), *code = json_object_get(login, "code");
	const json_t *expires = json_object_get(login, "expires");
	const char *token = json_text_or_empty(login, "token");
	AUTO_FREE char *link = link_of(visit->web, json_string_value(code));
	(void)result;
	sha256_hex(token, strlen(token), hash);
	recent_put(visit->web->logins, hash, json_pack("{s:O, s:O}", "code", code, "expires", expires), LOGIN_MS, 0);
	AUTO_JSON json_t *value = json_pack("{s:s, s:O, s:O, s:s?}", json_text_or_empty(visit->data, "token_name"), token,
		"code", code, "expires", expires, "confirm_url", link);
	respond_json(visit->request, STATUS_OK, value);
	visit_end(visit);
}

void
logins_reset(struct visit *visit, const json_t *token, visit_fn then)
{
	visit_call_internal(visit, "login.reset", json_pack("{s:O}", "token", token), then);
}

static void
on_begun(struct visit *visit, json_t *login)
{
	json_object_set(visit->data, "login", login);
	if (member_true(visit->data, "is_reset"))
		logins_reset(visit, json_object_get(login, "token"), answer);
	else
		answer(visit, login);
}

void
logins_begin(struct visit *visit, json_t *result)
{
	(void)result;
	visit_call_internal(visit, "login.begin",
		json_pack("{s:O, s:s}", "name", json_object_get(visit->data, "name"), "address", http_address(visit->request)),
		on_begun);
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
		visit_begin(web, request, NULL, 0, logins_begin, visit_respond_error,
			json_pack("{s:s, s:s}", "name", name, "token_name", "token"), NULL);
}
