/* SPDX-License-Identifier: MIT */
/* KernelBot's HTTP API: what its operators do, with the admin's token of the configuration, as the frontend itself. */
#include <config.h>

#include "web/compat/compat.h"

#include "base/base.h"
#include "base/hash.h"
#include "base/number.h"
#include "web/compat/results.h"
#include "web/visit/respond.h"

#define INVITES_PAGE 1000
#define UPDATE_LIMIT_MS 110000 /* clients wait for 120 s */
#define NAME_LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-"
#define DEV "-dev" /* behind the name of a folder: the board that is made of it */

/* ---- submissions ---- */

static void
answer_submission(struct visit *visit, json_t *result)
{
	AUTO_JSON json_t *shown = json_pack("{s:o}", "submission", results_admin(result));
	compat_answer_row(visit, shown);
}

/* The figures of a day have no `num_unique_codes`. */
static void
answer_stats(struct visit *visit, json_t *result)
{
	json_t *stats = json_object_get(result, "stats");
	if (member_true(json_object_get(visit->data, "args"), "last_day"))
		(void)json_object_del(stats, "num_unique_codes");
	compat_answer_row(visit, result);
}

static void
answer_ids(struct visit *visit, json_t *result)
{
	json_t *ids = json_array();
	json_array_each(result, row)
		json_array_append(ids, json_object_get(row, "id"));
	const json_t *known = json_object_get(json_array_get(result, 0), "leaderboard_name");
	AUTO_JSON json_t *listed = json_pack("{s:o, s:o}", "submission_ids", ids, "leaderboard",
		known ? json_incref((json_t *)known) : json_string(http_segment(visit->request, 2)));
	compat_answer_row(visit, listed);
}

/* A board of `leaderboard.list` by its number. */
static const char *
board_of(const json_t *boards, long long id)
{
	json_array_each(boards, board)
		if (member_int(board, "id") == id)
			return json_text_or_empty(board, "name");
	return NULL;
}

static void
delete_all(struct visit *visit, json_t *boards)
{
	const json_t *query = json_object_get(visit->data, "query");
	const char *number = json_text_or_null(query, "leaderboard_id"), *user = json_text_or_null(query, "user_name");
	long long id = 0;
	bool is_number = number && number_parse_integer(number, &id);
	const char *board = board_of(boards, id);
	if (!number || !user)
		compat_answer(visit, STATUS_UNPROCESSABLE,
			json_pack("{s:[{s:[s, s], s:s, s:s}]}", "detail", "loc", "query", number ? "user_name" : "leaderboard_id",
				"msg", "It is missing.", "type", "missing"));
	else if (!is_number)
		visit_refuse(visit, KETTLE_EINVAL, "`leaderboard_id` must be a whole number.");
	else if (!board)
		visit_refuse(visit, KETTLE_ENOENT, "There is no leaderboard with the number %lld.", id);
	else
		visit_call_internal(visit, "submission.delete_all",
			json_pack("{s:s, s:{s:s}}", "leaderboard", board, "user", "name", user), compat_answer_row);
}

/* ---- boards ---- */

static void
create_board(struct visit *visit, json_t *result)
{
	(void)result;
	visit->mend = NULL;
	compat_command(visit, "leaderboard.create", json_incref(json_object_get(visit->data, "board")), compat_answer_row);
}

/* There is no board of that name that must go first. */
static bool
create_first(struct visit *visit, const struct kettle_error *err)
{
	if (err->code == KETTLE_ENOENT)
		create_board(visit, NULL);
	return err->code == KETTLE_ENOENT;
}

static void
take_task(struct visit *visit, json_t *task)
{
	const json_t *body = json_object_get(visit->data, "body");
	if (json_array_size(json_object_get(json_object_get(task, "task"), "gpus")) == 0) {
		visit_refuse(visit, KETTLE_EINVAL, "The task names no devices: add `gpus` to its task.yml.");
		return;
	}
	AUTO_JSON json_t *name = json_sprintf("%s" DEV, json_text_or_empty(body, "directory"));
	/* Its template is not tried: clients wait for 30 s. */
	json_object_set_new(visit->data, "board",
		json_pack("{s:O, s:O, s:s, s:b, s:O*}", "name", name, "task", task, "deadline", "+365d", "force", 1,
			"visibility", json_object_get(body, "visibility")));
	visit->mend = create_first;
	visit_call_internal(visit, "leaderboard.delete", json_pack("{s:O, s:b}", "name", name, "force", 1), create_board);
}

static void
read_task(struct visit *visit, json_t *result)
{
	const char *directory = json_text_or_empty(json_object_get(visit->data, "body"), "directory");
	const char *root = json_text_or_null(visit->web->options, "task_root");
	(void)result;
	if (!root) {
		visit_refuse(
			visit, KETTLE_EACCES, "No task of this machine may be read: the configuration has no `task_root`.");
		return;
	}
	if (!*directory || *directory == '.' || directory[strspn(directory, NAME_LETTERS)]) {
		visit_refuse(visit, KETTLE_EINVAL,
			"`directory` must be the name of a task's folder below `task_root`: letters, digits, `.`, `_` and `-`.");
		return;
	}
	AUTO_FREE char *path = xasprintf("%s/%s", root, directory);
	visit_call_internal(visit, "task.read", json_pack("{s:s}", "path", path), take_task);
}

/* ---- rate limits ---- */

/* A number that stands for a limit: limits have none here, but clients read one. */
static json_int_t
number_of(const json_t *limit, const json_t *board)
{
	char hash[65];
	AUTO_FREE char *key = xasprintf("%lld %s %s", (long long)member_int(board, "id"),
		json_text_or_empty(limit, "category"), json_text_or_empty(limit, "device"));
	sha256_hex(key, strlen(key), hash);
	hash[7] = '\0';
	return strtol(hash, NULL, 16);
}

/* A limit in KernelBot's form. */
static json_t *
limit_of(const json_t *limit, const json_t *board)
{
	return json_pack("{s:I, s:O?, s:O?, s:O?, s:O?, s:O?}", "id", number_of(limit, board), "leaderboard_id",
		json_object_get(board, "id"), "leaderboard_name", json_object_get(board, "name"), "mode_category",
		json_object_get(limit, "category"), "max_submissions_per_hour", json_object_get(limit, "per_hour"), "device",
		json_object_get(limit, "device"));
}

/* Answers with the one limit of the request's body, or with all. */
static void
answer_limits(struct visit *visit, json_t *result)
{
	const json_t *board = json_object_get(result, "leaderboard"), *body = json_object_get(visit->data, "body");
	const char *category = json_text_or_null(body, "mode_category"), *device = json_text_or_empty(body, "device");
	AUTO_JSON json_t *limits = json_array(), *one = NULL;
	json_array_each(json_object_get(visit->data, "limits"), limit) {
		json_t *shown = limit_of(limit, board);
		json_array_append_new(limits, shown);
		if (category && member_is(limit, "category", category) &&
			strcasecmp(json_text_or_empty(limit, "device"), device) == 0)
			one = json_incref(shown);
	}
	compat_answer(visit, STATUS_OK,
		json_pack("{s:s, s:O?, s:O*, s:O*}", "status", "ok", "leaderboard", json_object_get(board, "name"),
			"rate_limit", category ? one : NULL, "rate_limits", category ? NULL : limits));
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
		AUTO_JSON json_t *value =
			json_pack("{s:O, s:O}", "invites", all, "leaderboard", json_object_get(result, "leaderboard"));
		compat_answer_row(visit, value);
		return;
	}
	visit_call_internal(visit, "invite.list",
		json_pack("{s:O, s:i, s:i}", "name", json_object_get(result, "leaderboard"), "limit", INVITES_PAGE, "offset",
			(int)json_array_size(all)),
		collect_invites);
}

/* ---- competitions ---- */

static void
sync_problems(struct visit *visit, json_t *result)
{
	const json_t *body = json_object_get(visit->data, "body");
	visit_call_internal(visit, "competition.sync",
		json_pack("{s:{s:O}, s:O*, s:O*}", "problems", "sets", json_object_get(result, "sets"), "force",
			json_object_get(body, "force"), "visibility", json_object_get(body, "visibility")),
		compat_answer_row);
}

static void
fetch_problems(struct visit *visit, json_t *result)
{
	const json_t *force = json_object_get(json_object_get(visit->data, "body"), "force");
	(void)result;
	if (force && !json_is_boolean(force) && !json_is_null(force))
		visit_refuse(visit, KETTLE_EINVAL, "`force` must be true or false.");
	else
		visit_call_internal(
			visit, "competition.fetch", json_incref(json_object_get(visit->data, "args")), sync_problems);
}

/* ---- the calls ---- */

/* clang-format off */
#define BOARD_IN_PATH {"name", FROM_PATH, "2"}
#define BOARD_SHOWN {"leaderboard", FROM_PATH, "2"}
#define BOARD_TOLD {"leaderboard", FROM_RESULT, "leaderboard"}

const struct compat_route compat_admin_routes[] = {
	{HTTP_POST, {"admin", "start"}, COMPAT_CALL("admin.resume",
		.answer = {{"accepts_jobs", FROM_RESULT, "accepts_jobs"}})},
	{HTTP_POST, {"admin", "stop"}, COMPAT_CALL("admin.pause",
		.answer = {{"accepts_jobs", FROM_RESULT, "accepts_jobs"}})},
	{HTTP_GET, {"admin", "stats"}, COMPAT_CALL("admin.stats",
		.args = {{"last_day", FROM_FLAG, "last_day_only"}, {"leaderboard", FROM_QUERY, "leaderboard_name"}},
		.then = answer_stats, .answer = {{"stats", FROM_RESULT, "stats"}})},
	{HTTP_GET, {"admin", "submissions", "*"}, COMPAT_CALL("submission.show",
		.args = {{"id", FROM_ID, "2"}}, .then = answer_submission,
		.answer = {{"submission", FROM_RESULT, "submission"}})},
	{HTTP_DELETE, {"admin", "submissions", "*"}, COMPAT_CALL("submission.delete",
		.args = {{"id", FROM_ID, "2"}}, .answer = {{"submission_id", FROM_RESULT, "id"}})},
	{HTTP_DELETE, {"admin", "submissions"}, COMPAT_CALL("leaderboard.list",
		.args = {{"all", FROM_TRUE}, {"short", FROM_TRUE}}, .then = delete_all,
		.answer = {{"leaderboard_id", FROM_NUMBER, "leaderboard_id"}, {"user_name", FROM_QUERY, "user_name"},
			{"deleted_submissions", FROM_RESULT, "submissions"}, {"deleted_runs", FROM_RESULT, "runs"},
			{"deleted_job_status", FROM_RESULT, "jobs"}})},
	{HTTP_POST, {"admin", "submissions", "*", "flag"}, COMPAT_CALL("submission.flag",
		.args = {{"id", FROM_ID, "2"}, {"reason", FROM_BODY, "reason", .is_needed = true}},
		.answer = {{"submission_id", FROM_RESULT, "id"}, {"reason", FROM_RESULT, "reason"}})},
	{HTTP_POST, {"admin", "submissions", "*", "unflag"}, COMPAT_CALL("submission.unflag",
		.args = {{"id", FROM_ID, "2"}}, .answer = {{"submission_id", FROM_RESULT, "id"}})},
	{HTTP_POST, {"admin", "submission", "*", "*", "*"}, COMPAT_CALL("submit",
		.who = COMPAT_ADMIN_FOR_USER, .upload = 3, .args = {{"late", FROM_TRUE}}, .then = compat_accepted)},
	{HTTP_GET, {"admin", "leaderboards", "*", "submissions"}, COMPAT_CALL("submission.list",
		.args = {{"leaderboard", FROM_PATH, "2"}, {"all", FROM_TRUE}, {"limit", FROM_NUMBER, "limit", "100"},
			{"offset", FROM_NUMBER, "offset", "0"}},
		.then = answer_ids,
		.answer = {BOARD_TOLD, {"limit", FROM_NUMBER, "limit", "100"}, {"offset", FROM_NUMBER, "offset", "0"},
			{"submission_ids", FROM_RESULT, "submission_ids"}})},
	{HTTP_POST, {"admin", "leaderboards"}, COMPAT_CALL(NULL, .then = read_task,
		.answer = {{"leaderboard", FROM_RESULT, "name"}})},
	{HTTP_DELETE, {"admin", "leaderboards", "*"}, COMPAT_CALL("leaderboard.delete",
		.args = {BOARD_IN_PATH, {"force", FROM_FLAG, "force"}},
		.answer = {{"leaderboard", FROM_RESULT, "name"}, {"force", FROM_FLAG, "force"}})},
	{HTTP_POST, {"admin", "leaderboards", "*", "visibility"}, COMPAT_CALL("leaderboard.update",
		.args = {BOARD_IN_PATH, {"visibility", FROM_BODY, "visibility", .is_needed = true}},
		.answer = {BOARD_SHOWN, {"visibility", FROM_BODY, "visibility"}})},
	{HTTP_PUT, {"admin", "leaderboards", "*", "rate-limits"}, COMPAT_CALL("leaderboard.rate_limit",
		.args = {BOARD_IN_PATH, {"category", FROM_BODY, "mode_category", .is_needed = true},
			{"per_hour", FROM_BODY, "max_submissions_per_hour", .is_needed = true}, {"device", FROM_BODY, "device"}},
		.then = ask_board)},
	{HTTP_GET, {"admin", "leaderboards", "*", "rate-limits"}, COMPAT_CALL("leaderboard.rate_limits",
		.args = {BOARD_IN_PATH}, .then = ask_board)},
	{HTTP_DELETE, {"admin", "leaderboards", "*", "rate-limits", "*"}, COMPAT_CALL("leaderboard.rate_limit",
		.args = {BOARD_IN_PATH, {"category", FROM_PATH, "4"}, {"remove", FROM_TRUE}},
		.answer = {BOARD_TOLD, {"mode_category", FROM_PATH, "4"}})},
	{HTTP_POST, {"admin", "invites"}, COMPAT_CALL("invite.create",
		.args = {{"name", FROM_BODY, "leaderboard"}, {"name", FROM_BODY, "leaderboards"},
			{"count", FROM_BODY, "count", .is_needed = true}},
		.answer = {{"leaderboards", FROM_RESULT, "leaderboards"}, {"codes", FROM_RESULT, "codes"}})},
	{HTTP_GET, {"admin", "leaderboards", "*", "invites"}, COMPAT_CALL("invite.list",
		.args = {BOARD_IN_PATH}, .then = collect_invites,
		.answer = {BOARD_TOLD, {"invites", FROM_RESULT, "invites"}})},
	{HTTP_DELETE, {"admin", "invites", "*"}, COMPAT_CALL("invite.revoke",
		.args = {{"code", FROM_PATH, "2"}},
		.answer = {{"code", FROM_RESULT, "code"}, {"was_claimed", FROM_RESULT, "was_claimed"}})},
	{HTTP_POST, {"admin", "ban", "*"}, COMPAT_CALL("user.ban",
		.args = {{"name", FROM_USER, "2"}, {"reason", FROM_BODY, "reason", "by an admin"}},
		.answer = {{"user_id", FROM_PATH, "2"}, {"banned", FROM_TRUE}})},
	{HTTP_DELETE, {"admin", "ban", "*"}, COMPAT_CALL("user.unban",
		.args = {{"name", FROM_USER, "2"}}, .answer = {{"user_id", FROM_PATH, "2"}, {"banned", FROM_FALSE}})},
	{HTTP_POST, {"admin", "update-problems"}, COMPAT_CALL(NULL,
		.args = {{"repository", FROM_BODY, "repository", .option = "problems_repository", .is_needed = true},
			{"branch", FROM_BODY, "branch", .option = "problems_branch"},
			{"set", FROM_BODY, "problem_set"}},
		.then = fetch_problems, .limit_ms = UPDATE_LIMIT_MS,
		.answer = {{"created", FROM_RESULT, "created"}, {"updated", FROM_RESULT, "updated"},
			{"skipped", FROM_RESULT, "skipped"}, {"errors", FROM_RESULT, "errors"}})},
	{HTTP_POST, {"admin", "export-hf"}, COMPAT_CALL(NULL, .refusal = {STATUS_UNAVAILABLE,
		"An export to Hugging Face is not built in: `kettle leaderboard export` writes the submissions."})},
	{HTTP_POST, {"admin", "application-validations", "*", "*"}, COMPAT_CALL(NULL, .refusal = {STATUS_BAD_REQUEST,
		"Kettle validates tasks only by their tests."})},
};
/* clang-format on */

const size_t compat_admin_count = ARRAY_SIZE(compat_admin_routes);
