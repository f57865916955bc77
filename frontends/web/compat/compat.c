/* SPDX-License-Identifier: MIT */
/* KernelBot's HTTP API: routes, credentials, errors. */
#include <config.h>

#include "web/compat/compat.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/json_access.h"
#include "base/xalloc.h"
#include "web/accounts/logins.h"
#include "web/visit/respond.h"

#define RATE_RETRY_S 3600

/* Those of users; the last one is for what no other route has the path of. */
static const struct compat_route routes[] = {
	{HTTP_GET, {"leaderboards"}, 0, compat_leaderboards, NULL},
	{HTTP_GET, {"gpus", "*"}, 0, compat_gpus, NULL},
	{HTTP_GET, {"runner_queue", "*"}, 0, compat_runner_queue, NULL},
	{HTTP_POST, {"submission", "*", "*", "*"}, COMPAT_FILE_MAX + COMPAT_FORM_MAX, compat_submit, NULL},
	{HTTP_POST, {"profile", "*", "*"}, COMPAT_FILE_MAX + COMPAT_FORM_MAX, compat_profile, NULL},
	{HTTP_GET, {"user", "submissions"}, 0, compat_submissions, NULL},
	{HTTP_GET, {"user", "submissions", "*"}, 0, compat_submission, NULL},
	{HTTP_DELETE, {"user", "submissions", "*"}, 0, compat_submission_delete, NULL},
	{HTTP_POST, {"user", "join"}, COMPAT_JSON_MAX, compat_join, NULL},
	{HTTP_GET, {"submissions", "*", "*"}, 0, compat_ranking, NULL},
	{HTTP_GET, {"submission_count", "*", "*"}, 0, compat_ranking_count, NULL},
	{HTTP_GET, {"auth", "init"}, 0, logins_init, NULL},
	{HTTP_GET, {"auth", "cli", "*"}, 0, logins_return, NULL},
	{HTTP_POST, {"*", "*", "*"}, COMPAT_FILE_MAX + COMPAT_FORM_MAX, compat_stream, NULL},
};

/* First words of addresses that are not of this API, but as long as one of a board. */
static const char *const others[] = {"api", "auth", "link", "static"};

static bool
fits(const struct compat_route *route, const struct http_request *request)
{
	for (size_t i = 0; i < COMPAT_SEGMENTS; i++) {
		const char *wanted = route->path[i], *segment = http_segment(request, i);
		if (!wanted || !segment)
			return !wanted && !segment;
		if (strcmp(wanted, "*") != 0 && strcmp(wanted, segment) != 0)
			return false;
	}
	return !http_segment(request, COMPAT_SEGMENTS);
}

static bool
takes(const struct compat_route *route, enum http_method method)
{
	return route->method == method || (route->method == HTTP_GET && method == HTTP_HEAD);
}

/* The route among these that fits and takes the method; *ret_is_known: whether one fits. */
static const struct compat_route *
find_among(const struct compat_route *list, size_t count, const struct http_request *request, bool *ret_is_known)
{
	for (size_t i = 0; i < count; i++)
		if (fits(&list[i], request)) {
			*ret_is_known = true;
			if (takes(&list[i], http_method(request)))
				return &list[i];
		}
	return NULL;
}

/* The route of a request; NULL: it has none. *ret_is_known: whether its path has one with another method. */
static const struct compat_route *
find(const struct http_request *request, bool *ret_is_known)
{
	const size_t named = ARRAY_SIZE(routes) - 1;
	const char *first = http_segment(request, 0);
	*ret_is_known = false;
	if (first && strcmp(first, "admin") == 0)
		return find_among(compat_admin_routes, compat_admin_count, request, ret_is_known);
	const struct compat_route *route = find_among(routes, named, request, ret_is_known);
	bool is_other = *ret_is_known;
	for (size_t i = 0; first && i < ARRAY_SIZE(others); i++)
		is_other = is_other || strcmp(first, others[i]) == 0;
	if (route || is_other || http_method(request) != HTTP_POST)
		return route;
	return find_among(&routes[named], 1, request, ret_is_known);
}

const struct compat_route *
compat_route_of(const struct http_request *request)
{
	bool is_known = false;
	return find(request, &is_known);
}

bool
compat_request(struct web *web, struct http_request *request)
{
	bool is_known = false;
	const struct compat_route *route = find(request, &is_known);
	if (route && route->call)
		compat_admin(web, request, route->call);
	else if (route)
		route->handle(web, request);
	else if (is_known)
		compat_refuse(request, STATUS_NOT_ALLOWED, "This address does not take that method.");
	return is_known;
}

size_t
compat_body_max(const struct http_request *request)
{
	const struct compat_route *route = compat_route_of(request);
	return route ? route->body_max : 0;
}

/* The credential of a request: the web site's before the command line's; "" counts as none. */
static const char *
credential_of(const struct http_request *request)
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
	AUTO_JSON json_t *value = json_pack("{s:s}", "detail", sentence);
	respond_json(request, status, value);
}

/* The status of an error here: a conflict is a wrong request to these clients. */
static unsigned
status_of(const struct visit *visit, const struct kettle_error *err)
{
	if (err->code == KETTLE_EACCES && visit->actor == visit->web->nobody)
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
	const char *token = credential_of(visit->request);
	AUTO_FREE char *hint = visit->actor == visit->web->nobody && token ? logins_hint(visit->web->logins, token) : NULL;
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
	struct kettle_error err = {0};
	if (member_is(board, "visibility", "closed") && json_is_null(json_object_get(board, "opens"))) {
		visit->fail = compat_fail;
		(void)kettle_fail(&err, KETTLE_EACCES, "This leaderboard is closed: it needs an invite, which you join with.");
	} else {
		(void)kettle_fail(&err, KETTLE_ENOENT, "unknown");
	}
	visit_fail(visit, &err);
}

/* Clients read from the status that a board is closed to them. */
static bool
ask_closed(struct visit *visit, const struct kettle_error *err)
{
	const json_t *args = json_object_get(visit->data, "args");
	const char *board = json_text_or_null(args ? args : visit->data, "leaderboard");
	if (!board)
		board = json_text_or_null(visit->data, "name");
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
compat_call_board(struct visit *visit, const char *command, json_t *args_take, visit_fn then)
{
	visit->mend = ask_closed;
	visit_call(visit, command, args_take, then);
}

void
compat_answer(struct visit *visit, unsigned status, const json_t *value)
{
	respond_json(visit->request, status, value);
	visit_end(visit);
}

/* ---- visits ---- */

void
compat_visit(struct web *web, struct http_request *request, visit_fn start, json_t *data_take)
{
	visit_begin(web, request, credential_of(request), COMPAT_LIMIT_MS, start, compat_fail, data_take);
}

void
compat_visit_user(struct web *web, struct http_request *request, visit_fn start, json_t *data_take)
{
	if (credential_of(request)) {
		compat_visit(web, request, start, data_take);
		return;
	}
	json_decref(data_take);
	compat_refuse(request, STATUS_UNAUTHORIZED,
		"This call needs the header X-Popcorn-Cli-Id: register first, or send a token of `kettle token create`.");
}
