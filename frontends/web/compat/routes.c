/* SPDX-License-Identifier: MIT */
/* KernelBot's HTTP API: which path is which call; the ids of clients, which are tokens that a user confirms. */
#include <config.h>

#include "web/compat/compat.h"

#include "base/bounded_json.h"
#include "base/base.h"
#include "base/text.h"
#include "web/accounts/logins.h"
#include "web/visit/respond.h"

#define VALUES_MAX 100
#define STATE_MAX 1000 /* bytes */

/* ---- GET /auth/init ---- */

/* The state of a request between its calls. */
static void
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
static void
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

/* ---- the routes ---- */

/* clang-format off */
#define BOARD_AND_DEVICE {"name", FROM_PATH, "1"}, {"device", FROM_PATH, "2"}
#define PAGE {"limit", FROM_NUMBER, "limit"}, {"offset", FROM_NUMBER, "offset"}

/* Those of users; the last one is for what no other route has the path of. */
static const struct compat_route routes[] = {
	{HTTP_GET, {"leaderboards"}, COMPAT_CALL("leaderboard.list", COMPAT_ANYBODY,
		.args = {{"all", FROM_TRUE}}, .then = compat_answer_leaderboards)},
	{HTTP_GET, {"gpus", "*"}, COMPAT_CALL("leaderboard.devices", COMPAT_ANYBODY,
		.args = {{"name", FROM_PATH, "1"}}, .then = compat_answer_gpus)},
	{HTTP_GET, {"runner_queue", "*"}, COMPAT_CALL("device.list", COMPAT_NOBODY,
		.args = {{"known", FROM_TRUE}}, .then = compat_answer_queue)},
	{HTTP_POST, {"submission", "*", "*", "*"}, COMPAT_CALL("submit", COMPAT_USER, .upload = 2, .then = compat_accepted)},
	{HTTP_POST, {"profile", "*", "*"}, COMPAT_CALL("submit", COMPAT_USER,
		.upload = 2, .is_profile = true, .then = compat_follow, .fail = compat_fail_profile)},
	{HTTP_GET, {"user", "submissions"}, COMPAT_CALL("submission.list", COMPAT_USER,
		.args = {{"leaderboard", FROM_QUERY, "leaderboard"}, PAGE}, .then = compat_answer_submissions)},
	{HTTP_GET, {"user", "submissions", "*"}, COMPAT_CALL("submission.show", COMPAT_USER,
		.args = {{"id", FROM_ID, "2"}}, .then = compat_show_submission)},
	{HTTP_DELETE, {"user", "submissions", "*"}, COMPAT_CALL("submission.delete", COMPAT_USER,
		.args = {{"id", FROM_ID, "2"}}, .answer = {{"submission_id", FROM_RESULT, "id"}})},
	{HTTP_POST, {"user", "join"}, COMPAT_CALL("leaderboard.join", COMPAT_USER,
		.args = {{"code", FROM_BODY, "code", .is_needed = true}},
		.answer = {{"leaderboards", FROM_RESULT, "leaderboards"}}, .fail = compat_fail_join)},
	{HTTP_GET, {"submissions", "*", "*"}, COMPAT_CALL("leaderboard.show", COMPAT_ANYBODY,
		.args = {BOARD_AND_DEVICE, PAGE}, .then = compat_answer_ranking)},
	{HTTP_GET, {"submission_count", "*", "*"}, COMPAT_CALL(NULL, COMPAT_ANYBODY,
		.args = {BOARD_AND_DEVICE}, .then = compat_count_ranking)},
	{HTTP_GET, {"auth", "init"}, COMPAT_CALL(NULL, COMPAT_NOBODY,
		.args = {{"is_reset", FROM_FLAG, "is_reset"}}, .then = compat_begin_login)},
	{HTTP_GET, {"auth", "cli", "*"}, COMPAT_CALL(NULL, COMPAT_NOBODY, .then = compat_return_login)},
	{HTTP_POST, {"*", "*", "*"}, COMPAT_CALL("submit", COMPAT_USER, .upload = 1, .then = compat_follow)},
};
/* clang-format on */

/* First words of addresses that are not of this API, but as long as one of a board. */
static const char *const others[] = {
	"api", "auth", "board", "diff", "join", "link", "operator", "static", "submission", "user"};

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

/* The route among these that fits and takes the method; else adds the methods that those take which fit. */
static const struct compat_route *
find_among(const struct compat_route *list, size_t count, const struct http_request *request, struct buf *methods)
{
	static const char *const names[] = {
		[HTTP_GET] = "GET, HEAD", [HTTP_POST] = "POST", [HTTP_PUT] = "PUT", [HTTP_DELETE] = "DELETE"};
	enum http_method method = http_method(request) == HTTP_HEAD ? HTTP_GET : http_method(request);
	for (size_t i = 0; i < count; i++)
		if (fits(&list[i], request)) {
			buf_printf(methods, "%s%s", methods->len ? ", " : "", names[list[i].method]);
			if (list[i].method == method)
				return &list[i];
		}
	return NULL;
}

/* The route of a request; NULL: it has none. methods: those that its path has then; empty: it is not of this API. */
static const struct compat_route *
find(const struct http_request *request, struct buf *methods)
{
	const size_t named = ARRAY_SIZE(routes) - 1;
	const char *first = http_segment(request, 0);
	if (first && strcmp(first, "admin") == 0)
		return find_among(compat_admin_routes, compat_admin_count, request, methods);
	const struct compat_route *route = find_among(routes, named, request, methods);
	/* The files of a submission have addresses as long as that of its upload. */
	if (!route && http_method(request) != HTTP_POST && first && strcmp(first, "submission") == 0)
		buf_free(methods);
	bool is_other = methods->len > 0;
	for (size_t i = 0; first && i < ARRAY_SIZE(others); i++)
		is_other = is_other || strcmp(first, others[i]) == 0;
	if (route || is_other || http_method(request) != HTTP_POST)
		return route;
	return find_among(&routes[named], 1, request, methods);
}

bool
compat_request(struct web *web, struct http_request *request)
{
	AUTO_BUF struct buf methods = {0};
	const struct compat_route *route = find(request, &methods);
	if (route)
		compat_request_call(web, request, route->call);
	else if (methods.len)
		respond_detail(request, STATUS_NOT_ALLOWED, "This address does not support the method of the request.", "Allow",
			methods.data);
	return methods.len > 0;
}

size_t
compat_body_max(const struct http_request *request)
{
	AUTO_BUF struct buf methods = {0};
	const struct compat_route *route = find(request, &methods);
	bool has_body = route && (route->method == HTTP_POST || route->method == HTTP_PUT);
	return !has_body ? 0 : route->call->upload ? COMPAT_FILE_MAX + COMPAT_FORM_MAX : COMPAT_JSON_MAX;
}
