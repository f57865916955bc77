/* SPDX-License-Identifier: MIT */
/* KernelBot's HTTP API: the ids of clients, which are tokens that a user confirms. */
#include <config.h>

#include "web/compat/compat.h"

#include <string.h>

#include "base/bounded_json.h"
#include "base/cleanup.h"
#include "base/contents.h"
#include "base/json_access.h"
#include "web/accounts/logins.h"
#include "web/visit/respond.h"

#define VALUES_MAX 100
#define STATE_MAX 1000 /* bytes */

/* ---- GET /auth/init ---- */

void
compat_begin_login(struct visit *visit, json_t *result)
{
	const json_t *query = json_object_get(visit->data, "query");
	if (!member_is(query, "provider", "discord") && !member_is(query, "provider", "github")) {
		visit_refuse(visit, KETTLE_EINVAL, "The provider must be discord or github.");
		return;
	}
	json_object_update_new(
		visit->data, json_pack("{s:s, s:s, s:O}", "name", "popcorn-cli", "token_name", "state", "is_reset",
						 json_object_get(json_object_get(visit->data, "args"), "is_reset")));
	logins_begin(visit, result);
}

/* ---- GET /auth/cli/PROVIDER: the return of a provider, as clients lead to it ---- */

/* A state: URL-safe base64, unpadded, of {"cli_id", "is_reset"}. NULL: it is none. */
static json_t *
read_state(const char *state)
{
	size_t size = 0;
	AUTO_FREE void *text = NULL;
	if (strlen(state) > STATE_MAX || base64url_decode(state, strlen(state), &text, &size) < 0)
		return NULL;
	return bounded_json_parse(text, size, VALUES_MAX, 0, NULL);
}

static void
answer_return(struct visit *visit, json_t *result)
{
	(void)result;
	compat_answer(visit, STATUS_OK,
		json_pack("{s:s, s:O, s:O}", "status", "pending", "message", json_object_get(visit->data, "hint"), "is_reset",
			json_object_get(visit->data, "is_reset")));
}

/*
 * The state is the client's own and not signed: a forged address that a user opens would let its author act as them. So
 * it says where to confirm the login; the confirmation says whether this ends the user's earlier logins.
 */
void
compat_return_login(struct visit *visit, json_t *result)
{
	AUTO_JSON json_t *state = read_state(json_text_or_empty(json_object_get(visit->data, "query"), "state"));
	const json_t *id = json_object_get(state, "cli_id");
	AUTO_FREE char *hint = logins_hint(visit->web, json_text_or_empty(state, "cli_id"));
	bool is_reset = member_true(state, "is_reset");
	if (!hint) {
		visit_refuse(visit, KETTLE_EINVAL, "The state does not belong to a login in progress: register again.");
		return;
	}
	json_object_update_new(visit->data, json_pack("{s:s, s:b}", "hint", hint, "is_reset", is_reset));
	if (is_reset)
		logins_reset(visit, id, answer_return);
	else
		answer_return(visit, result);
}
