/* SPDX-License-Identifier: MIT */
/*
 * KernelBot's HTTP API: what its operators do, with the admin's token of the configuration, as the frontend itself.
 *
 * Theory of operation. A call is a row: its route, the command that it stands for, where the command's arguments come
 * from, and what the answer consists of. A request becomes {"path": its segments, "query", "body"}. Those that need more
 * than one command go on with a function.
 */
#include <config.h>

#include "web/compat/compat.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/bounded_json.h"
#include "base/cleanup.h"
#include "base/json_access.h"
#include "base/number.h"
#include "base/xalloc.h"
#include "web/compat/results.h"
#include "web/visit/respond.h"

#define VALUES_MAX 1000 /* of a body */
#define FIELDS_MAX 7    /* of a row, with its end */
#define INVITES_PAGE 1000
#define UPDATE_LIMIT_MS 110000 /* clients wait for 120 s */
#define NAME_LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-"
#define DEV "-dev" /* behind the name of a folder: the board that is made of it */

/* ---- fields of arguments and answers ---- */

enum from {
	FROM_PATH = 1, /* segment number `key`, from 0 */
	FROM_ID,       /* the same, a number above 0 */
	FROM_USER,     /* the same, a user: #NUMBER, a number, or PROVIDER:SUBJECT */
	FROM_QUERY,
	FROM_NUMBER, /* of the query */
	FROM_FLAG,   /* of the query */
	FROM_BODY,
	FROM_RESULT, /* of the command */
	FROM_TRUE,
	FROM_FALSE,
};

struct field {
	const char *to;
	enum from from;
	const char *key;
	const char *fallback; /* text or number where it is absent */
	bool is_needed;
};

struct admin_call {
	const char *command; /* NULL: `then` begins */
	struct field args[FIELDS_MAX], answer[FIELDS_MAX];
	visit_fn then; /* goes on, in place of `answer` */
	uint64_t limit_ms;
};

static int
number_of(const char *name, const char *text, long long min, json_t **ret_value, struct kettle_error *err)
{
	long long number = 0;
	if (!number_parse_integer(text, &number) || number < min)
		return kettle_fail(err, KETTLE_EINVAL, "`%s` must be a whole number of at least %lld.", name, min);
	*ret_value = json_integer(number);
	return 0;
}

/* The text of a field that is one; NULL: it is absent. */
static const char *
text_of(const struct field *field, const json_t *data)
{
	const char *text = NULL;
	if (field->from == FROM_PATH || field->from == FROM_ID || field->from == FROM_USER)
		text = json_string_value(json_array_get(json_object_get(data, "path"), strtoul(field->key, NULL, 10)));
	else if (field->from == FROM_QUERY || field->from == FROM_NUMBER || field->from == FROM_FLAG)
		text = json_text_or_null(json_object_get(data, "query"), field->key);
	return text ? text : field->fallback;
}

/* The value of a field that is one as it is; NULL: it is absent. */
static json_t *
found_value(const struct field *field, const json_t *data, const json_t *result)
{
	const json_t *body = json_object_get(data, "body");
	json_t *value = json_object_get(field->from == FROM_BODY ? body : result, field->key);
	bool is_found = (field->from == FROM_BODY && !json_is_null(value)) || field->from == FROM_RESULT;
	return is_found ? value : NULL;
}

/* *ret_value stays NULL where the field is absent. New reference. */
static int
value_of(
	const struct field *field, const json_t *data, const json_t *result, json_t **ret_value, struct kettle_error *err)
{
	const char *text = text_of(field, data);
	json_t *found = found_value(field, data, result);
	if (field->from == FROM_TRUE || field->from == FROM_FALSE)
		*ret_value = json_boolean(field->from == FROM_TRUE);
	else if (field->from == FROM_FLAG)
		*ret_value = json_boolean(text && (strcasecmp(text, "true") == 0 || strcmp(text, "1") == 0));
	else if (found)
		*ret_value = json_incref(found);
	else if (text && (field->from == FROM_ID || field->from == FROM_NUMBER))
		return number_of(field->to, text, field->from == FROM_ID, ret_value, err);
	else if (text)
		*ret_value = field->from == FROM_USER ? compat_user(text) : json_string(text);
	else if (field->is_needed)
		return kettle_fail(err, KETTLE_EINVAL, "`%s` is missing.", field->key);
	return 0;
}

static int
put_fields(
	const struct field *fields, const json_t *data, const json_t *result, json_t *object, struct kettle_error *err)
{
	int rc = 0;
	for (size_t i = 0; i < FIELDS_MAX && fields[i].to && rc == 0; i++) {
		json_t *value = NULL;
		rc = value_of(&fields[i], data, result, &value, err);
		if (value)
			json_object_set_new(object, fields[i].to, value);
	}
	return rc;
}

/* ---- requests ---- */

static json_t *
path_of(const struct http_request *request)
{
	json_t *path = json_array();
	const char *segment;
	for (size_t i = 0; (segment = http_segment(request, i)); i++)
		json_array_append_new(path, json_string(segment));
	return path;
}

/* The parameters; of several with one name the first. */
static int
read_query(const struct http_request *request, json_t *query, struct kettle_error *err)
{
	struct query parsed;
	int rc = query_parse(http_query(request), &parsed, err);
	if (rc < 0)
		return rc;
	for (size_t i = parsed.count; i-- > 0;)
		json_object_set_new(query, parsed.parameters[i].name, json_string(parsed.parameters[i].value));
	query_free(&parsed);
	return 0;
}

static int
read_request(const struct http_request *request, json_t *data, struct kettle_error *err)
{
	size_t size = 0;
	const char *body = http_body(request, &size);
	json_t *value = size > 0 ? bounded_json_parse(body, size, VALUES_MAX, 0, NULL) : json_object();
	if (!value)
		return kettle_fail(err, KETTLE_EINVAL, "The body must be a JSON object.");
	json_object_set_new(data, "path", path_of(request));
	json_object_set_new(data, "body", value);
	return read_query(request, json_object_get(data, "query"), err);
}

static void
answer(struct visit *visit, json_t *result)
{
	const struct admin_call *call = compat_route_of(visit->request)->call;
	AUTO_JSON json_t *value = json_pack("{s:s}", "status", "ok");
	struct kettle_error err = {0};
	if (put_fields(call->answer, visit->data, result, value, &err) < 0)
		visit_fail(visit, &err);
	else
		compat_answer(visit, STATUS_OK, value);
}

static void
begin(struct visit *visit, json_t *result)
{
	const struct admin_call *call = compat_route_of(visit->request)->call;
	struct kettle_error err = {0};
	AUTO_JSON json_t *args = json_object();
	/* Whom it is refused to is somebody: the frontend. */
	json_decref(visit->actor);
	visit->actor = json_incref(visit->web->self);
	if (put_fields(call->args, visit->data, NULL, args, &err) < 0)
		visit_fail(visit, &err);
	else if (call->command)
		visit_call_internal(visit, call->command, json_incref(args), call->then ? call->then : answer);
	else
		call->then(visit, result);
}

void
compat_admin(struct web *web, struct http_request *request, const struct admin_call *call)
{
	struct kettle_error err = {0};
	AUTO_JSON json_t *data = json_pack("{s:{}}", "query");
	if (!compat_is_admin(web, request))
		return;
	if (read_request(request, data, &err) < 0)
		compat_refuse(request, STATUS_BAD_REQUEST, err.message);
	else
		visit_begin(
			web, request, NULL, call->limit_ms ? call->limit_ms : COMPAT_LIMIT_MS, begin, compat_fail, STEAL(data));
}

/* ---- submissions ---- */

static void
answer_submission(struct visit *visit, json_t *result)
{
	AUTO_JSON json_t *shown = json_pack("{s:o}", "submission", results_admin(result));
	answer(visit, shown);
}

static void
answer_ids(struct visit *visit, json_t *result)
{
	json_t *ids = json_array();
	size_t i;
	const json_t *row;
	json_array_foreach(result, i, row)
		json_array_append(ids, json_object_get(row, "id"));
	AUTO_JSON json_t *listed = json_pack("{s:o}", "submission_ids", ids);
	answer(visit, listed);
}

/* A board of `leaderboard.list` by its number. */
static const char *
board_of(const json_t *boards, const char *number)
{
	long long id = 0;
	size_t i;
	const json_t *board;
	json_array_foreach(boards, i, board)
		if (number_parse_integer(number, &id) && member_int(board, "id") == id)
			return json_text_or_empty(board, "name");
	return NULL;
}

static void
delete_all(struct visit *visit, json_t *boards)
{
	const json_t *query = json_object_get(visit->data, "query");
	const char *number = json_text_or_null(query, "leaderboard_id"), *user = json_text_or_null(query, "user_name");
	const char *board = number ? board_of(boards, number) : NULL;
	struct kettle_error err = {0};
	if (!number || !user) {
		AUTO_JSON json_t *value = json_pack("{s:[{s:[s, s], s:s, s:s}]}", "detail", "loc", "query",
			number ? "user_name" : "leaderboard_id", "msg", "It is missing.", "type", "missing");
		compat_answer(visit, STATUS_UNPROCESSABLE, value);
	} else if (!board) {
		(void)kettle_fail(&err, KETTLE_ENOENT, "There is no leaderboard with the number %.20s.", number);
		visit_fail(visit, &err);
	} else {
		visit_call_internal(visit, "submission.delete_all",
			json_pack("{s:s, s:{s:s}}", "leaderboard", board, "user", "name", user), answer);
	}
}

/* ---- boards ---- */

static void
create_board(struct visit *visit, json_t *result)
{
	(void)result;
	visit_call_internal(visit, "leaderboard.create", json_incref(json_object_get(visit->data, "board")), answer);
}

/* Creates the board, in place of one of that name. */
static void
replace_board(struct visit *visit, json_t *boards)
{
	const char *name = json_text_or_empty(json_object_get(visit->data, "board"), "name");
	size_t i;
	const json_t *board;
	json_array_foreach(boards, i, board)
		if (strcasecmp(json_text_or_empty(board, "name"), name) == 0) {
			visit_call_internal(
				visit, "leaderboard.delete", json_pack("{s:s, s:b}", "name", name, "force", 1), create_board);
			return;
		}
	create_board(visit, NULL);
}

static void
take_task(struct visit *visit, json_t *task)
{
	const json_t *body = json_object_get(visit->data, "body");
	struct kettle_error err = {0};
	if (json_array_size(json_object_get(json_object_get(task, "task"), "gpus")) == 0) {
		(void)kettle_fail(&err, KETTLE_EINVAL, "The task names no devices: add `gpus` to its task.yml.");
		visit_fail(visit, &err);
		return;
	}
	/* Its template is not tried: clients wait for 30 s. */
	json_object_set_new(visit->data, "board",
		json_pack("{s:o, s:O, s:s, s:b, s:O*}", "name", json_sprintf("%s" DEV, json_text_or_empty(body, "directory")),
			"task", task, "deadline", "+365d", "force", 1, "visibility", json_object_get(body, "visibility")));
	visit_call_internal(visit, "leaderboard.list", json_pack("{s:b}", "all", 1), replace_board);
}

static void
read_task(struct visit *visit, json_t *result)
{
	const char *directory = json_text_or_empty(json_object_get(visit->data, "body"), "directory");
	const char *root = json_text_or_null(visit->web->options, "task_root");
	struct kettle_error err = {0};
	(void)result;
	if (!root)
		(void)kettle_fail(
			&err, KETTLE_EACCES, "No task of this machine may be read: the configuration has no `task_root`.");
	else if (!*directory || *directory == '.' || directory[strspn(directory, NAME_LETTERS)])
		(void)kettle_fail(&err, KETTLE_EINVAL,
			"`directory` must be the name of a task's folder below `task_root`: letters, digits, `.`, `_` and `-`.");
	if (err.code) {
		visit_fail(visit, &err);
		return;
	}
	AUTO_FREE char *path = xasprintf("%s/%s", root, directory);
	visit_call_internal(visit, "task.read", json_pack("{s:s}", "path", path), take_task);
}

/* ---- rate limits ---- */

/* A limit in KernelBot's form; limits have no numbers here. */
static json_t *
limit_of(const json_t *limit, const json_t *board)
{
	return json_pack("{s:n, s:O?, s:O?, s:O?, s:O?, s:O?}", "id", "leaderboard_id", json_object_get(board, "id"),
		"leaderboard_name", json_object_get(board, "name"), "mode_category", json_object_get(limit, "category"),
		"max_submissions_per_hour", json_object_get(limit, "per_hour"), "device", json_object_get(limit, "device"));
}

/* Answers with the one limit of the request's body, or with all. */
static void
answer_limits(struct visit *visit, json_t *result)
{
	const json_t *board = json_object_get(result, "leaderboard"), *body = json_object_get(visit->data, "body"), *limit;
	const char *category = json_text_or_null(body, "mode_category"), *device = json_text_or_empty(body, "device");
	AUTO_JSON json_t *limits = json_array(), *one = NULL;
	size_t i;
	json_array_foreach(json_object_get(visit->data, "limits"), i, limit) {
		json_t *shown = limit_of(limit, board);
		json_array_append_new(limits, shown);
		if (category && member_is(limit, "category", category) &&
			strcasecmp(json_text_or_empty(limit, "device"), device) == 0)
			one = json_incref(shown);
	}
	AUTO_JSON json_t *value = json_pack("{s:O?, s:O*, s:O*}", "leaderboard", json_object_get(board, "name"),
		"rate_limit", category ? one : NULL, "rate_limits", category ? NULL : limits);
	json_object_set_new(value, "status", json_string("ok"));
	compat_answer(visit, STATUS_OK, value);
}

/* The limits do not say which number their board has. */
static void
ask_board(struct visit *visit, json_t *result)
{
	json_object_set(visit->data, "limits", json_object_get(result, "limits"));
	visit_call_internal(visit, "leaderboard.show",
		json_pack("{s:O, s:i}", "name", json_object_get(result, "leaderboard"), "limit", 1), answer_limits);
}

/* ---- invites ---- */

/* Goes on until all pages are there. */
static void
collect_invites(struct visit *visit, json_t *result)
{
	json_t *all = json_object_get(visit->data, "invites"), *page = json_object_get(result, "invites");
	if (!all)
		json_object_set_new(visit->data, "invites", all = json_array());
	json_array_extend(all, page);
	if (json_array_size(page) < INVITES_PAGE) {
		AUTO_JSON json_t *value = json_pack("{s:O}", "invites", all);
		answer(visit, value);
		return;
	}
	visit_call_internal(visit, "invite.list",
		json_pack("{s:O, s:i, s:i}", "name", json_object_get(result, "leaderboard"), "limit", INVITES_PAGE, "offset",
			(int)json_array_size(all)),
		collect_invites);
}

/* Both forms of the body: a list, or one name. */
static void
create_invites(struct visit *visit, json_t *result)
{
	const json_t *body = json_object_get(visit->data, "body");
	json_t *names = json_object_get(body, "leaderboards"), *one = json_object_get(body, "leaderboard");
	struct kettle_error err = {0};
	(void)result;
	if (!json_is_integer(json_object_get(body, "count"))) {
		(void)kettle_fail(&err, KETTLE_EINVAL, "`count` must be a whole number from 1 to 10000.");
		visit_fail(visit, &err);
		return;
	}
	visit_call_internal(visit, "invite.create",
		json_pack("{s:O*, s:O}", "name", json_array_size(names) ? names : one, "count", json_object_get(body, "count")),
		answer);
}

/* ---- competitions, and what there is not ---- */

static void
sync_problems(struct visit *visit, json_t *result)
{
	const json_t *body = json_object_get(visit->data, "body");
	visit_call_internal(visit, "competition.sync",
		json_pack("{s:{s:O}, s:b, s:O*}", "problems", "sets", json_object_get(result, "sets"), "force",
			member_true(body, "force"), "visibility", json_object_get(body, "visibility")),
		answer);
}

static void
refuse_export(struct web *web, struct http_request *request)
{
	if (compat_is_admin(web, request))
		compat_refuse(request, STATUS_UNAVAILABLE,
			"An export to Hugging Face is not built in: `kettle leaderboard export` writes the submissions.");
}

static void
refuse_validation(struct web *web, struct http_request *request)
{
	if (compat_is_admin(web, request))
		compat_refuse(request, STATUS_BAD_REQUEST, "Tasks have no validation beside their tests here.");
}

/* ---- the calls ---- */

/* clang-format off */
#define BOARD_IN_PATH {"name", FROM_PATH, "2"}
#define BOARD_SHOWN {"leaderboard", FROM_PATH, "2"}
#define CALL(...) NULL, &(const struct admin_call){__VA_ARGS__}

const struct compat_route compat_admin_routes[] = {
	{HTTP_POST, {"admin", "start"}, COMPAT_JSON_MAX, CALL("admin.resume",
		.answer = {{"accepts_jobs", FROM_RESULT, "accepts_jobs"}})},
	{HTTP_POST, {"admin", "stop"}, COMPAT_JSON_MAX, CALL("admin.pause",
		.answer = {{"accepts_jobs", FROM_RESULT, "accepts_jobs"}})},
	{HTTP_GET, {"admin", "stats"}, 0, CALL("admin.stats",
		.args = {{"last_day", FROM_FLAG, "last_day_only"}, {"leaderboard", FROM_QUERY, "leaderboard_name"}},
		.answer = {{"stats", FROM_RESULT, "stats"}})},
	{HTTP_GET, {"admin", "submissions", "*"}, 0, CALL("submission.show",
		.args = {{"id", FROM_ID, "2"}}, .then = answer_submission,
		.answer = {{"submission", FROM_RESULT, "submission"}})},
	{HTTP_DELETE, {"admin", "submissions", "*"}, 0, CALL("submission.delete",
		.args = {{"id", FROM_ID, "2"}}, .answer = {{"submission_id", FROM_RESULT, "id"}})},
	{HTTP_DELETE, {"admin", "submissions"}, 0, CALL("leaderboard.list",
		.args = {{"all", FROM_TRUE}}, .then = delete_all,
		.answer = {{"leaderboard_id", FROM_NUMBER, "leaderboard_id"}, {"user_name", FROM_QUERY, "user_name"},
			{"deleted_submissions", FROM_RESULT, "submissions"}, {"deleted_runs", FROM_RESULT, "runs"},
			{"deleted_job_status", FROM_RESULT, "jobs"}})},
	{HTTP_POST, {"admin", "submissions", "*", "flag"}, COMPAT_JSON_MAX, CALL("submission.flag",
		.args = {{"id", FROM_ID, "2"}, {"reason", FROM_BODY, "reason", .is_needed = true}},
		.answer = {{"submission_id", FROM_RESULT, "id"}, {"reason", FROM_RESULT, "reason"}})},
	{HTTP_POST, {"admin", "submissions", "*", "unflag"}, COMPAT_JSON_MAX, CALL("submission.unflag",
		.args = {{"id", FROM_ID, "2"}}, .answer = {{"submission_id", FROM_RESULT, "id"}})},
	{HTTP_POST, {"admin", "submission", "*", "*", "*"}, COMPAT_FILE_MAX + COMPAT_FORM_MAX, compat_admin_submit, NULL},
	{HTTP_GET, {"admin", "leaderboards", "*", "submissions"}, 0, CALL("submission.list",
		.args = {{"leaderboard", FROM_PATH, "2"}, {"all", FROM_TRUE}, {"limit", FROM_NUMBER, "limit", "100"},
			{"offset", FROM_NUMBER, "offset", "0"}},
		.then = answer_ids,
		.answer = {BOARD_SHOWN, {"limit", FROM_NUMBER, "limit", "100"}, {"offset", FROM_NUMBER, "offset", "0"},
			{"submission_ids", FROM_RESULT, "submission_ids"}})},
	{HTTP_POST, {"admin", "leaderboards"}, COMPAT_JSON_MAX, CALL(NULL, .then = read_task,
		.answer = {{"leaderboard", FROM_RESULT, "name"}})},
	{HTTP_DELETE, {"admin", "leaderboards", "*"}, 0, CALL("leaderboard.delete",
		.args = {BOARD_IN_PATH, {"force", FROM_FLAG, "force"}},
		.answer = {{"leaderboard", FROM_RESULT, "name"}, {"force", FROM_FLAG, "force"}})},
	{HTTP_POST, {"admin", "leaderboards", "*", "visibility"}, COMPAT_JSON_MAX, CALL("leaderboard.update",
		.args = {BOARD_IN_PATH, {"visibility", FROM_BODY, "visibility", .is_needed = true}},
		.answer = {BOARD_SHOWN, {"visibility", FROM_BODY, "visibility"}})},
	{HTTP_PUT, {"admin", "leaderboards", "*", "rate-limits"}, COMPAT_JSON_MAX, CALL("leaderboard.rate_limit",
		.args = {BOARD_IN_PATH, {"category", FROM_BODY, "mode_category", .is_needed = true},
			{"per_hour", FROM_BODY, "max_submissions_per_hour", .is_needed = true}, {"device", FROM_BODY, "device"}},
		.then = ask_board)},
	{HTTP_GET, {"admin", "leaderboards", "*", "rate-limits"}, 0, CALL("leaderboard.rate_limits",
		.args = {BOARD_IN_PATH}, .then = ask_board)},
	{HTTP_DELETE, {"admin", "leaderboards", "*", "rate-limits", "*"}, 0, CALL("leaderboard.rate_limit",
		.args = {BOARD_IN_PATH, {"category", FROM_PATH, "4"}, {"remove", FROM_TRUE}},
		.answer = {BOARD_SHOWN, {"mode_category", FROM_PATH, "4"}})},
	{HTTP_POST, {"admin", "invites"}, COMPAT_JSON_MAX, CALL(NULL, .then = create_invites,
		.answer = {{"leaderboards", FROM_RESULT, "leaderboards"}, {"codes", FROM_RESULT, "codes"}})},
	{HTTP_GET, {"admin", "leaderboards", "*", "invites"}, 0, CALL("invite.list",
		.args = {BOARD_IN_PATH}, .then = collect_invites,
		.answer = {BOARD_SHOWN, {"invites", FROM_RESULT, "invites"}})},
	{HTTP_DELETE, {"admin", "invites", "*"}, 0, CALL("invite.revoke",
		.args = {{"code", FROM_PATH, "2"}},
		.answer = {{"code", FROM_RESULT, "code"}, {"was_claimed", FROM_RESULT, "was_claimed"}})},
	{HTTP_POST, {"admin", "ban", "*"}, COMPAT_JSON_MAX, CALL("user.ban",
		.args = {{"name", FROM_USER, "2"}, {"reason", FROM_BODY, "reason", "by an admin"}},
		.answer = {{"user_id", FROM_PATH, "2"}, {"banned", FROM_TRUE}})},
	{HTTP_DELETE, {"admin", "ban", "*"}, 0, CALL("user.unban",
		.args = {{"name", FROM_USER, "2"}}, .answer = {{"user_id", FROM_PATH, "2"}, {"banned", FROM_FALSE}})},
	{HTTP_POST, {"admin", "update-problems"}, COMPAT_JSON_MAX, CALL("competition.fetch",
		.args = {{"repository", FROM_BODY, "repository", .is_needed = true}, {"branch", FROM_BODY, "branch"},
			{"set", FROM_BODY, "problem_set"}},
		.then = sync_problems, .limit_ms = UPDATE_LIMIT_MS,
		.answer = {{"created", FROM_RESULT, "created"}, {"updated", FROM_RESULT, "updated"},
			{"skipped", FROM_RESULT, "skipped"}, {"errors", FROM_RESULT, "errors"}})},
	{HTTP_POST, {"admin", "export-hf"}, COMPAT_JSON_MAX, refuse_export, NULL},
	{HTTP_POST, {"admin", "application-validations", "*", "*"}, COMPAT_JSON_MAX, refuse_validation, NULL},
};
/* clang-format on */

const size_t compat_admin_count = ARRAY_SIZE(compat_admin_routes);
