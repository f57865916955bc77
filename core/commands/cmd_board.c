/* SPDX-License-Identifier: MIT */
/* Commands on leaderboards: create, update, list, show, delete. */
#include <config.h>

#include "commands/handlers.h"

#include "base/base.h"
#include "base/text.h"
#include "commands/board_trial.h"
#include "maintenance/maintenance.h"
#include "model/board.h"
#include "model/board_cache.h"
#include "model/board_update.h"
#include "model/jobs.h"
#include "model/name.h"
#include "model/ranking.h"
#include "model/ranking_page.h"
#include "model/rate_limit.h"
#include "model/submissions.h"
#include "model/user.h"
#include "task/task.h"

static int
check_board_name(const char *name, struct kettle_error *err)
{
	static const char first[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
	size_t len = strlen(name),
		   sound = strspn(name, "._-abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789");
	if (len == 0 || len > BOARD_NAME_MAX || sound != len || !strchr(first, name[0]))
		return kettle_fail(err, KETTLE_EINVAL,
			"`%.80s` is not a valid leaderboard name: a name has 1 to %d letters, digits, `.`, `_` and `-` and begins "
			"with a letter or digit.",
			name, BOARD_NAME_MAX);
	if (name_is_reserved(name))
		return kettle_fail(
			err, KETTLE_EINVAL, "`%s` cannot be the name of a leaderboard: the word is reserved for URLs.", name);
	return 0;
}

/* The devices given, else the task's, else the only one that is configured. */
static int
choose_devices(const struct command_env *env, const json_t *given, const json_t *task, json_t **ret_devices,
	struct kettle_error *err)
{
	AUTO_JSON json_t *configured = board_configured(env);
	const json_t *gpus = json_object_get(task, "gpus");
	const json_t *wanted = json_array_size(given) ? given : json_array_size(gpus) ? gpus : configured;
	AUTO_FREE char *names = board_join(configured);
	if (json_array_size(configured) == 0)
		return kettle_fail(err, KETTLE_EUNAVAIL, "No device is configured, so nothing could run on this leaderboard.");
	if (wanted == configured && json_array_size(configured) > 1)
		return kettle_fail(err, KETTLE_EINVAL, "No device is given, and the task names none: choose from %s.", names);
	return board_pick_devices(env, wanted, ret_devices, err);
}

/* A new board, checked. */
struct new_board {
	const char *name;
	struct board_change settings; /* borrows from the arguments, and these: */
	json_t *bundle, *devices;
	char *description;
};

static void
free_new_board(struct new_board *board)
{
	json_decref_all(board->bundle, board->devices);
	free(board->description);
}
#define AUTO_NEW_BOARD __attribute__((cleanup(free_new_board)))

/* Whether a board may have the name. */
static int
check_new_name(struct db *db, const char *name, struct kettle_error *err)
{
	bool taken = false;
	int rc = check_board_name(name, err);
	if (rc == 0)
		rc = board_exists(db, name, &taken, err);
	if (rc == 0 && taken)
		rc = kettle_fail(err, KETTLE_ECONFLICT,
			"The leaderboard `%s` already exists: delete it first, or choose another name.", name);
	return rc;
}

/* Reads the arguments on a board's settings, which own the strings; neither its task nor its devices. */
static int
read_settings(struct db *db, const json_t *args, struct board_change *settings, struct kettle_error *err)
{
	const char *deadline = json_text_or_null(args, "deadline"), *opens = json_text_or_null(args, "opens");
	settings->name = json_text_or_null(args, "rename");
	settings->description = json_text_or_null(args, "description");
	settings->visibility = json_text_or_null(args, "visibility");
	settings->code = json_text_or_null(args, "code_visibility");
	settings->jit_cache = json_text_or_null(args, "jit_cache");
	settings->after_deadline = json_text_or_null(args, "after_deadline");
	settings->set_deadline = deadline != NULL;
	settings->set_opens = opens != NULL;
	int rc = deadline ? board_deadline(deadline, db->now_ms, &settings->deadline_at, err) : 0;
	return rc == 0 && opens ? board_opening(opens, db->now_ms, &settings->opens_at, err) : rc;
}

/* The name and the times of a new board. */
static int
check_begin(struct db *db, const json_t *args, struct new_board *board, struct kettle_error *err)
{
	struct board_change *settings = &board->settings;
	board->name = json_text_or_null(args, "name");
	int rc = check_new_name(db, board->name, err);
	if (rc == 0)
		rc = read_settings(db, args, settings, err);
	if (rc == 0 && settings->deadline_at && settings->deadline_at <= db->now_ms && !member_true(args, "force"))
		rc = kettle_blame(err, KETTLE_CAUSE_NONE, "force",
			kettle_fail(err, KETTLE_ECONFLICT,
				"The deadline of `%s` has already passed, so it would accept no submission; use `force` to create it "
				"anyway.",
				board->name));
	return rc == 0 ? board_check_times(settings->opens_at, settings->deadline_at, err) : rc;
}

int
cmd_board_check_name(const struct command_call *call, json_t **ret_result, struct kettle_error *err)
{
	AUTO_NEW_BOARD struct new_board board = {0};
	int rc = check_begin(call->db, call->args, &board, err);
	if (rc == 0)
		*ret_result = json_pack("{s:s}", "name", board.name);
	return rc;
}

/* Reads and checks the arguments; writes nothing. */
static int
check_new(
	struct db *db, const struct command_env *env, const json_t *args, struct new_board *board, struct kettle_error *err)
{
	struct board_change *settings = &board->settings;
	int rc = check_begin(db, args, board, err);
	if (rc == 0)
		rc = task_check_harness(
			env->languages, json_object_get(args, "task"), json_text_or_null(args, "harness"), &board->bundle, err);
	if (rc < 0)
		return rc;
	const json_t *task = json_object_get(board->bundle, "task");
	const char *description = settings->description ? settings->description : json_text_or_empty(task, "description");
	board->description = sanitize_text(description, BOARD_DESCRIPTION_MAX);
	settings->description = board->description;
	settings->bundle = board->bundle;
	rc = choose_devices(env, json_object_get(args, "device"), task, &board->devices, err);
	settings->devices = board->devices;
	return rc;
}

/* The remarks on the task and the deadline. New reference. */
static json_t *
remarks_of(const struct db *db, const json_t *bundle, int64_t deadline_at)
{
	json_t *remarks = json_copy(json_object_get(bundle, "remarks"));
	if (!remarks)
		remarks = json_array();
	if (deadline_at && deadline_at <= db->now_ms)
		(void)json_array_append_new(remarks, json_string("The deadline has already passed."));
	return remarks;
}

int
cmd_board_create_check(
	struct db *db, const struct command_env *env, const json_t *args, json_t **ret_plan, struct kettle_error *err)
{
	AUTO_NEW_BOARD struct new_board board = {0};
	int rc = check_new(db, env, args, &board, err);
	if (rc == 0)
		*ret_plan = board_trial_plan(board.name, board.bundle, board.devices);
	return rc;
}

int
cmd_board_create(const struct command_call *call, json_t **ret_result, struct kettle_error *err)
{
	AUTO_NEW_BOARD struct new_board board = {0};
	AUTO_JSON json_t *object = NULL;
	int rc = check_new(call->db, call->env, call->args, &board, err);
	if (rc == 0 && call->plans) {
		*ret_result = json_array();
		if (!member_true(call->args, "force") && !member_true(call->args, "no_try"))
			(void)json_array_append_new(*ret_result, board_trial_plan(board.name, board.bundle, board.devices));
		return 0;
	}
	if (rc == 0)
		rc = board_trial_check(call->trial, board.name, "force", "create", err);
	if (rc == 0)
		board_trial_imports(call->trial, board.name, board.bundle);
	if (rc == 0)
		rc = board_create(call->db, call->actor, board.name, &board.settings, &object, err);
	if (rc < 0)
		return rc;
	(void)json_object_set_new(object, "remarks", remarks_of(call->db, board.bundle, board.settings.deadline_at));
	board_trial_tell(call->trial, board.name, object);
	*ret_result = STEAL(object);
	return 0;
}

/* ---- update ---- */

/* The arguments as a change; *ret_bundle and *ret_devices hold what it borrows. */
static int
read_change(struct db *db, const struct command_env *env, const json_t *args, struct board_change *change,
	json_t **ret_bundle, json_t **ret_devices, struct kettle_error *err)
{
	const json_t *devices = json_object_get(args, "device"), *task = json_object_get(args, "task");
	int rc = read_settings(db, args, change, err);
	change->force = member_true(args, "force");
	if (rc == 0 && json_object_get(args, "harness") && !task)
		return kettle_blame(err, KETTLE_CAUSE_NONE, "task",
			kettle_fail(err, KETTLE_EINVAL, "A harness is part of a task: give the task (`task`) together with it."));
	if (rc == 0 &&
		!(change->set_deadline || change->set_opens || devices || task || change->description || change->visibility ||
			change->code || change->jit_cache || change->after_deadline || change->name))
		return kettle_fail(err, KETTLE_EINVAL,
			"Nothing to change: give a name (`rename`), a deadline, an opening time, devices, a visibility, a code "
			"visibility, "
			"`jit_cache`, `after_deadline`, a description or a task.");
	if (rc == 0 && devices)
		rc = board_pick_devices(env, devices, ret_devices, err);
	if (rc == 0 && task)
		rc = task_check_harness(env->languages, task, json_text_or_null(args, "harness"), ret_bundle, err);
	change->devices = *ret_devices;
	change->bundle = *ret_bundle;
	return rc;
}

/* A new task is tried on the devices that the board will have. bundle: NULL if there is none, or none is tried. */
static int
plan_update(struct db *db, const struct board *board, json_t *bundle, json_t *devices, json_t **ret_result,
	struct kettle_error *err)
{
	AUTO_JSON json_t *own = NULL;
	int rc = bundle && !devices ? board_devices(db, board->id, &own, err) : 0;
	if (rc < 0)
		return rc;
	*ret_result = json_array();
	if (bundle)
		(void)json_array_append_new(*ret_result, board_trial_plan(board->name, bundle, devices ? devices : own));
	return 0;
}

/* Another name, or the same in other letters' cases. */
static int
check_rename(struct db *db, const struct board *board, const char *name, struct kettle_error *err)
{
	int rc = 0;
	if (name)
		rc = strcasecmp(name, board->name) == 0 ? check_board_name(name, err) : check_new_name(db, name, err);
	return rc < 0 ? kettle_blame(err, KETTLE_CAUSE_NONE, "rename", rc) : rc;
}

int
cmd_board_update(const struct command_call *call, json_t **ret_result, struct kettle_error *err)
{
	struct board board;
	struct board_change change = {0};
	AUTO_JSON json_t *bundle = NULL, *devices = NULL, *result = NULL, *object = NULL;
	int rc = board_find_owned(call->db, call->actor, json_text_or_null(call->args, "name"), &board, err);
	if (rc == 0)
		rc = read_change(call->db, call->env, call->args, &change, &bundle, &devices, err);
	if (rc == 0)
		rc = check_rename(call->db, &board, change.name, err);
	if (rc == 0 && call->plans)
		rc = board_update_check(call->db, &board, &change, err);
	if (rc == 0 && call->plans)
		return plan_update(
			call->db, &board, member_true(call->args, "no_try") ? NULL : bundle, devices, ret_result, err);
	if (rc == 0)
		rc = board_trial_check(call->trial, board.name, "no_try", "change", err);
	if (rc == 0)
		board_trial_imports(call->trial, board.name, bundle);
	if (rc == 0)
		rc = board_update(call->db, call->actor, &board, &change, &result, err);
	if (rc == 0)
		rc = board_object(call->db, board.id, &object, err);
	if (rc < 0)
		return rc;
	(void)json_object_set(result, "leaderboard", object);
	(void)json_object_set_new(result, "remarks", remarks_of(call->db, change.bundle, change.deadline_at));
	board_trial_tell(call->trial, board.name, result);
	*ret_result = STEAL(result);
	return 0;
}

/* ---- list and show ---- */

static bool
takes_file(const struct languages *languages, const json_t *board, const char *file)
{
	const struct language *language = language_find(languages, json_text_or_empty(board, "language"));
	return language && language_takes_file(language, file, NULL) == 0;
}

int
cmd_board_list(const struct command_call *call, json_t **ret_result, struct kettle_error *err)
{
	AUTO_JSON json_t *boards = NULL;
	const char *file = json_text_or_null(call->args, "takes");
	int rc = board_list(
		call->db, call->actor, member_true(call->args, "all"), !member_true(call->args, "short"), &boards, err);
	if (rc < 0)
		return rc;
	json_t *taken = json_array();
	json_array_each(boards, board) {
		bool takes = !file || takes_file(call->env->languages, board, file);
		(void)json_object_del(board, "language");
		if (takes)
			(void)json_array_append(taken, board);
	}
	*ret_result = taken;
	return 0;
}

/* Adds the limit to a ranking, and to each entry its share; 0: none is known. */
static void
add_limit(json_t *ranking, double limit)
{
	if (limit <= 0)
		return;
	(void)json_object_set_new(ranking, "limit", json_real(limit));
	json_array_each(json_object_get(ranking, "entries"), entry)
		(void)json_object_set_new(entry, "share", json_real(limit / member_number(entry, "submission_score")));
}

/* The rankings with only the actor's runs (user; 0: all), or, practice, with runs after the deadline. */
static int
show_other(struct db *db, int64_t user, bool practice, const struct board *board,
	const struct board_view_request *request, json_t **ret_result, struct kettle_error *err)
{
	AUTO_JSON json_t *devices = NULL, *object = NULL, *rankings = json_array();
	int rc = board_choose_devices(db, board, request->device, &devices, err);
	if (rc == 0)
		rc = board_object(db, board->id, &object, err);
	for (size_t i = 0; i < json_array_size(devices) && rc == 0; i++) {
		const char *device = json_string_value(json_array_get(devices, i));
		json_t *page = NULL;
		rc = practice ? ranking_page_practice(db, board->id, device, user, request->limit, request->offset, &page, err)
					  : ranking_page_of(db, board->id, device, user, request->limit, request->offset, &page, err);
		if (rc == 0)
			add_limit(page, board_limit(request->env, json_object_get(object, "task"), device));
		if (rc == 0)
			(void)json_array_append_new(rankings, page);
	}
	if (rc < 0)
		return rc;
	*ret_result = json_pack("{s:O, s:O, s:b, s:I}", "leaderboard", object, "rankings", rankings, "code_open",
		(int)request->open, "version", (json_int_t)board->version);
	return 0;
}

/* The entry of a user in a ranking: {"offset", "entry"}, or null. */
static int
find_entry(struct db *db, const struct board *board, const json_t *ranking, int64_t user, json_t **ret_found,
	struct kettle_error *err)
{
	struct ranking_page page = {0};
	const char *device = json_text_or_empty(ranking, "device");
	struct ranking_page_request wanted = {.leaderboard = board->id,
		.name = board->name,
		.device = device,
		.limit = 1,
		.limit_s = json_number_value(json_object_get(ranking, "limit"))};
	int rc = ranking_offset(db, board->id, device, user, &wanted.offset, err);
	if (rc == 0 && wanted.offset >= 0)
		rc = ranking_page_read(db, &wanted, NULL, &page, err);
	if (rc == 0)
		*ret_found = page.count == 0 ? json_null()
									 : json_pack("{s:I, s:O}", "offset", (json_int_t)wanted.offset, "entry",
										   json_array_get(json_object_get(page.object, "entries"), 0));
	ranking_page_free(&page);
	return rc;
}

/* Adds to each ranking of the answer, which may be in the cache, where a user is. */
static int
add_found(const struct command_call *call, const struct board *board, json_t **result, struct kettle_error *err)
{
	struct user user;
	int rc = user_find_shown(call->db, call->actor, json_object_get(call->args, "find"), &user, err);
	if (rc < 0)
		return rc;
	json_t *answer = json_copy(*result), *rankings = json_array();
	json_decref(*result);
	*result = answer;
	json_array_each(json_object_get(answer, "rankings"), shown) {
		json_t *ranking = json_copy(shown), *found = NULL;
		rc = rc < 0 ? rc : find_entry(call->db, board, ranking, user.id, &found, err);
		(void)json_object_set_new(ranking, "found", found);
		(void)json_array_append_new(rankings, ranking);
	}
	(void)json_object_set_new(answer, "rankings", rankings);
	return rc;
}

/* The answer, which may be in the cache, with the tools of the board's language. New reference. */
static json_t *
with_tools(const struct languages *languages, json_t *shown)
{
	const json_t *task = json_object_get(json_object_get(shown, "leaderboard"), "task");
	const struct language *language = language_find(languages, json_text_or_empty(task, "lang"));
	json_t *result = json_copy(shown);
	if (language && language->ops->tools)
		(void)json_object_set_new(result, "tools", language->ops->tools(language->self));
	return result;
}

int
cmd_board_show(const struct command_call *call, json_t **ret_result, struct kettle_error *err)
{
	struct board board;
	bool mine = member_true(call->args, "mine"), practice = member_true(call->args, "practice");
	const char *name = json_text_or_null(call->args, "name");
	int rc = mine ? board_find_own(call->db, call->actor, name, &board, err)
				  : board_find_visible(call->db, call->actor, name, &board, err);
	if (rc < 0)
		return rc;
	struct board_view_request request = {
		.env = call->env,
		.device = json_text_or_null(call->args, "device"),
		.limit = member_int(call->args, "limit"),
		.offset = member_int(call->args, "offset"),
		.open = board_owns(call->actor, &board) || board_code_open(&board, call->db->now_ms),
	};
	int64_t user = !mine ? 0 : call->actor->user ? call->actor->user : -1;
	AUTO_JSON json_t *shown = NULL;
	rc = mine || practice ? show_other(call->db, user, practice, &board, &request, &shown, err)
						  : board_cache_get(call->db, &board, &request, &shown, err);
	if (rc == 0 && json_object_get(call->args, "find"))
		rc = add_found(call, &board, &shown, err);
	if (rc == 0)
		*ret_result = with_tools(call->env->languages, shown);
	return rc;
}

int
cmd_board_renamed(const struct command_call *call, json_t **ret_result, struct kettle_error *err)
{
	struct board board;
	int rc = board_find_renamed(call->db, call->actor, json_text_or_null(call->args, "name"), &board, err);
	if (rc == 0)
		*ret_result = json_pack("{s:s}", "name", board.name);
	return rc;
}

/* ---- delete ---- */

static int
record_deleted(
	struct db *db, const struct actor *actor, const struct board *board, int64_t submissions, struct kettle_error *err)
{
	AUTO_JSON json_t *jobs = NULL;
	int rc = jobs_of_board(db, board->id, &jobs, err);
	if (rc < 0)
		return rc;
	AUTO_JSON json_t *data =
		json_pack("{s:s, s:I, s:O}", "name", board->name, "submissions", (json_int_t)submissions, "jobs", jobs);
	return db_event(db, "leaderboard.deleted", 'p', board->id, 0, actor->user, data, err);
}

int
cmd_board_delete(const struct command_call *call, json_t **ret_result, struct kettle_error *err)
{
	struct board board;
	int64_t submissions = 0;
	int rc = board_find_owned(call->db, call->actor, json_text_or_null(call->args, "name"), &board, err);
	if (rc == 0)
		rc = submission_count(call->db, &(struct submission_filter){.leaderboard = board.id}, &submissions, NULL, err);
	if (rc == 0 && submissions && !member_true(call->args, "force"))
		rc = kettle_blame(err, KETTLE_CAUSE_NONE, "force",
			kettle_fail(err, KETTLE_ECONFLICT,
				"The leaderboard `%s` has %lld submission%s, which would be deleted with it; use `force` to delete it "
				"anyway.",
				board.name, (long long)submissions, submissions == 1 ? "" : "s"));
	if (rc == 0)
		rc = record_deleted(call->db, call->actor, &board, submissions, err);
	if (rc == 0)
		rc = board_delete(call->db, board.id, err);
	if (rc == 0)
		*ret_result = json_pack("{s:s, s:I}", "name", board.name, "submissions", (json_int_t)submissions);
	return rc;
}

/* ---- rate limits ---- */

static int
list(struct db *db, const struct board *board, const char *category, const char *device, json_t **ret_result,
	struct kettle_error *err)
{
	AUTO_JSON json_t *limits = NULL;
	int rc = rate_limit_list(db, board, category, device, &limits, err);
	if (rc == 0)
		*ret_result = json_pack("{s:s, s:O}", "leaderboard", board->name, "limits", limits);
	return rc;
}

int
cmd_rate_limits(const struct command_call *call, json_t **ret_result, struct kettle_error *err)
{
	struct board board;
	AUTO_JSON json_t *devices = NULL;
	const char *device = json_text_or_null(call->args, "device");
	int rc = board_find_visible(call->db, call->actor, json_text_or_null(call->args, "name"), &board, err);
	if (rc == 0 && device)
		rc = board_choose_devices(call->db, &board, device, &devices, err);
	return rc < 0 ? rc
				  : list(call->db, &board, json_text_or_null(call->args, "category"),
						json_string_value(json_array_get(devices, 0)), ret_result, err);
}

int
cmd_rate_limit(const struct command_call *call, json_t **ret_result, struct kettle_error *err)
{
	struct board board;
	AUTO_JSON json_t *devices = NULL;
	json_t *per_hour = json_object_get(call->args, "per_hour");
	const char *category = json_text_or_null(call->args, "category"), *device = json_text_or_null(call->args, "device");
	bool removes = member_true(call->args, "remove");
	int rc = board_find_owned(call->db, call->actor, json_text_or_null(call->args, "name"), &board, err);
	if (rc == 0 && removes == (per_hour != NULL))
		rc = kettle_fail(err, KETTLE_EINVAL, "Give either a number of submissions per hour (`per_hour`) or `remove`.");
	/* The board's own spelling; to remove a limit, any device. */
	if (rc == 0 && device && !removes) {
		rc = board_choose_devices(call->db, &board, device, &devices, err);
		device = json_string_value(json_array_get(devices, 0));
	}
	if (rc == 0)
		rc = removes ? rate_limit_remove(call->db, &board, category, device, err)
					 : rate_limit_set(call->db, &board, category, device, json_integer_value(per_hour), err);
	if (rc < 0)
		return rc;
	AUTO_JSON json_t *data = json_pack(
		"{s:s, s:s?, s:s?, s:O?}", "name", board.name, "category", category, "device", device, "per_hour", per_hour);
	rc = db_event(call->db, "leaderboard.limited", 'p', board.id, 0, call->actor->user, data, err);
	return rc < 0 ? rc : list(call->db, &board, NULL, NULL, ret_result, err);
}

/* ---- export ---- */

static int
export_check(
	struct db *db, const struct actor *actor, const struct board *board, bool private, struct kettle_error *err)
{
	bool owns = board_owns(actor, board), active = !board_ended(board, db->now_ms);
	if (private)
		return board_check_owner(actor, board, err);
	if (active && owns)
		return kettle_blame(err, KETTLE_CAUSE_NONE, "private",
			kettle_fail(err, KETTLE_ECONFLICT,
				"The leaderboard `%s` is active, and the export has the code of all users: use `private` if "
				"participants will not see it.",
				board->name));
	if (active)
		return kettle_fail(err, KETTLE_ECONFLICT,
			"The leaderboard `%s` is active: it can be exported once its deadline has passed.", board->name);
	if (!owns && !board_code_open(board, db->now_ms))
		return kettle_fail(err, KETTLE_EACCES,
			"The leaderboard `%s` does not show the code of other users: only its creator and admins may export it.",
			board->name);
	return 0;
}

int
cmd_board_export(const struct command_call *call, json_t **ret_result, struct kettle_error *err)
{
	struct board board;
	AUTO_JSON json_t *page = NULL;
	int64_t after = member_int(call->args, "after"), total = 0;
	int rc = board_find_visible(call->db, call->actor, json_text_or_null(call->args, "name"), &board, err);
	if (rc == 0)
		rc = export_check(call->db, call->actor, &board, member_true(call->args, "private"), err);
	if (rc == 0 && !after)
		rc = submission_count(call->db, &(struct submission_filter){.leaderboard = board.id}, &total, NULL, err);
	if (rc == 0)
		rc = submission_page_of_board(call->db, board.id, board_owns(call->actor, &board), after, &page, err);
	if (rc == 0)
		*ret_result = json_pack("{s:s, s:o, s:O, s:O}", "leaderboard", board.name, "total",
			after ? json_null() : json_integer(total), "submissions", json_object_get(page, "submissions"), "next",
			json_object_get(page, "next"));
	return rc;
}
