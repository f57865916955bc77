/* SPDX-License-Identifier: MIT */
/* KernelBot's HTTP API: credentials, answers, errors. */
#include <config.h>

#include "web/compat/compat.h"

#include "base/base.h"
#include "web/accounts/logins.h"
#include "web/api/operations.h"
#include "web/visit/caller.h"
#include "web/visit/respond.h"

#define RATE_RETRY_S 3600

/* The credential of a request: the web site's before the command line's; "" counts as none. */
const char *
compat_credential(const struct http_request *request)
{
	static const char *const headers[] = {"X-Web-Auth-Id", "X-Popcorn-Cli-Id"};
	for (size_t i = 0; i < ARRAY_SIZE(headers); i++) {
		const char *value = http_header_value(request, headers[i]);
		if (value && *value)
			return value;
	}
	return NULL;
}

/* ---- answers ---- */

void
compat_refuse(struct http_request *request, unsigned status, const char *sentence)
{
	respond_detail(request, status, sentence, NULL, NULL);
}

/* The status of an error here: a conflict is a wrong request to these clients. */
static unsigned
status_of(const struct visit *visit, const struct kettle_error *err)
{
	if (err->code == KETTLE_EACCES && visit->actor == visit->web->anonymous)
		return STATUS_UNAUTHORIZED;
	return err->code == KETTLE_ECONFLICT ? STATUS_BAD_REQUEST : (unsigned)kettle_error_http(err->code);
}

void
compat_fail(struct visit *visit, const struct kettle_error *err)
{
	struct kettle_error told;
	error_tell(visit->web->host, err, &told);
	if (visit->stream) {
		AUTO_JSON json_t *event = json_pack(
			"{s:s, s:s, s:i}", "status", "error", "detail", told.message, "status_code", (int)status_of(visit, err));
		visit_send(visit, "error", event);
		return;
	}
	const char *token = compat_credential(visit->request);
	AUTO_FREE char *hint = visit->actor == visit->web->anonymous && token ? logins_hint(visit->web, token) : NULL;
	if (hint) {
		compat_refuse(visit->request, STATUS_UNAUTHORIZED, hint);
		return;
	}
	/* A limit of 0 has no end, but may be changed. */
	unsigned retry_s = err->code == KETTLE_ERATE && err->retry_s == 0 ? RATE_RETRY_S : err->retry_s;
	AUTO_FREE char *sentence = err->code == KETTLE_ERATE
								   ? xasprintf("%s (Retry after %u seconds.)", told.message, retry_s)
								   : xstrdup(told.message);
	AUTO_JSON json_t *value = json_pack("{s:s}", "detail", sentence);
	respond_retry(visit->request, status_of(visit, err), value, retry_s);
}

/* ---- closed boards: the core says that there is no such board ---- */

/* Fails with the error that came first: it knows no board that the user does not see. */
static void
fail_unknown(struct visit *visit, const struct kettle_error *err)
{
	struct kettle_error first = *err;
	(void)kettle_fail(&first, KETTLE_ENOENT, "%s", json_text_or_empty(visit->data, "unknown"));
	compat_fail(visit, &first);
}

static void
tell_closed(struct visit *visit, json_t *result)
{
	const json_t *board = json_object_get(result, "leaderboard");
	if (member_is(board, "visibility", "closed") && json_is_null(json_object_get(board, "opens"))) {
		visit->fail = compat_fail;
		visit_refuse(visit, KETTLE_EACCES, "This leaderboard is closed: join it with an invite code.");
	} else {
		visit_refuse(visit, KETTLE_ENOENT, "unknown");
	}
}

/* Clients read from the status that a board is closed to them. */
static bool
ask_closed(struct visit *visit, const struct kettle_error *err)
{
	const json_t *args = json_object_get(visit->data, "args");
	const char *name = json_text_or_null(args, "name"), *board = name ? name : json_text_or_null(args, "leaderboard");
	if (err->code != KETTLE_ENOENT || visit->stream || !board)
		return false;
	AUTO_JSON json_t *asked = json_pack("{s:s, s:i}", "name", board, "limit", 1);
	visit->mend = NULL;
	visit->fail = fail_unknown;
	json_object_set_new(visit->data, "unknown", json_string(err->message));
	visit_call_internal(visit, "leaderboard.show", STEAL(asked), tell_closed);
	return true;
}

void
compat_command(struct visit *visit, const char *command, json_t *args_take, visit_fn then)
{
	enum compat_who who = ((const struct compat_call *)visit->about)->who;
	if (who == COMPAT_ADMIN) {
		visit_call_internal(visit, command, args_take, then);
	} else if (who == COMPAT_ADMIN_FOR_USER) {
		visit_call_admin(visit, command, args_take, then);
	} else {
		visit->mend = ask_closed;
		visit_call(visit, command, args_take, then);
	}
}

void
compat_answer(struct visit *visit, unsigned status, json_t *value_take)
{
	AUTO_JSON json_t *value = value_take;
	respond_json(visit->request, status, value);
	visit_end(visit);
}

bool
compat_is_admin(const struct web *web, struct http_request *request)
{
	if (operations_token_is(callers_bearer(request), json_text_or_null(web->options, "admin_token")))
		return true;
	compat_refuse(request, STATUS_UNAUTHORIZED,
		"This call is for the operator: send `Authorization: Bearer TOKEN` with the token of `admin_token_env`.");
	return false;
}
