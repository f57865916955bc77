/* SPDX-License-Identifier: MIT */
/* The command that brings leaderboards in line with a competition file. */
#include <config.h>

#include "commands/handlers.h"

#include "base/base.h"
#include "base/schema.h"
#include "base/utf8.h"
#include "commands/board_trial.h"
#include "model/board.h"
#include "model/board_update.h"
#include "model/name.h"
#include "model/ranking.h"
#include "task/competition.h"
#include "task/task.h"

#define DIFFERS_SHOWN 5  /* differences of a task that a reason names */
#define SET_NAME_MAX 100 /* characters, as in sets_schema */

/* The form of a client's sets. The tasks in them are checked like any other. */
static const char sets_schema[] =
	"{\"type\": \"object\", \"required\": [\"sets\"], \"properties\": {\"sets\": {\"type\": \"array\", \"maxItems\": "
	"50, \"items\": {\"type\": \"object\", \"required\": [\"name\", \"problems\"], \"properties\": {"
	"\"name\": {\"type\": \"string\", \"minLength\": 1, \"maxLength\": 100},"
	"\"file\": {\"type\": \"string\", \"maxLength\": 200},"
	"\"description\": {\"type\": \"string\", \"maxLength\": 200000},"
	"\"standings\": {\"type\": \"boolean\"},"
	"\"error\": {\"type\": \"string\"},"
	"\"problems\": {\"type\": \"array\", \"maxItems\": 200, \"items\": {\"type\": \"object\", \"required\": "
	"[\"name\"], \"properties\": {"
	"\"name\": {\"type\": \"string\", \"minLength\": 1, \"maxLength\": 64},"
	"\"directory\": {\"type\": \"string\", \"maxLength\": 200},"
	"\"deadline\": {\"type\": [\"string\", \"null\"], \"maxLength\": 40},"
	"\"gpus\": {\"type\": [\"array\", \"null\"], \"maxItems\": 100, \"items\": {\"type\": \"string\"}},"
	"\"bundle\": {\"type\": [\"object\", \"null\"]},"
	"\"error\": {\"type\": [\"string\", \"null\"]}}}}}}}}}";

struct sync {
	struct db *db;
	const struct command_env *env;
	const struct actor *actor;
	bool force, dry;
	const char *visibility;  /* of boards that it creates */
	const char *harness;     /* of all tasks; NULL: what the file and the tasks say */
	const char *set;         /* the present one */
	json_t *names;           /* of all problems so far */
	bool joins;              /* the present set has or gets a board of the actor, or of others if that is an admin */
	json_t *result;          /* the answer; borrowed by the lists' names */
	const json_t *file;      /* of the set, or NULL */
	const json_t *standings; /* whether the set has some, or NULL */
	const json_t *trial;     /* of the new boards, or NULL */
	json_t *plan;            /* collects the new boards for it, or NULL */
};

/* Whether an error is the problem's, and not the database's or the machine's. */
static bool
is_its_own(int rc)
{
	return rc == KETTLE_EINVAL || rc == KETTLE_ENOENT || rc == KETTLE_EACCES || rc == KETTLE_ECONFLICT ||
		   rc == KETTLE_ETOOBIG || rc == KETTLE_EUNAVAIL;
}

/* Adds to a list of the answer; 0. */
static int
sync_add(struct sync *sync, const char *list, json_t *entry_take)
{
	(void)json_array_append_new(json_object_get(sync->result, list), entry_take);
	return 0;
}

/* The effect that `force` would have. */
static int
skip(struct sync *sync, const char *name, json_t *reason_take)
{
	return sync_add(
		sync, "skipped", json_pack("{s:s, s:o, s:s}", "name", name, "reason", reason_take, "member", "force"));
}

/* Lists an error of the problem; any other error ends the command. */
static int
report_problem(struct sync *sync, const char *name, int rc, const struct kettle_error *why, struct kettle_error *err)
{
	if (!is_its_own(rc)) {
		if (err)
			*err = *why;
		return rc;
	}
	return sync_add(sync, "errors",
		json_pack("{s:s, s:s, s:s*}", "name", name, "error", why->message, "member",
			strcmp(why->member, "force") == 0 ? why->member : NULL));
}

/* Notes the owner of the board. */
static int
mark(struct sync *sync, const char *name, const json_t *problem, struct kettle_error *err)
{
	AUTO_JSON json_t *source = json_pack("{s:O*, s:O*, s:O*}", "file", sync->file, "directory",
		json_object_get(problem, "directory"), "standings", sync->standings);
	return board_set_put(sync->db, name, sync->set, source, err);
}

/* ---- a new board ---- */

static json_t *
new_arguments(const struct sync *sync, const json_t *problem)
{
	json_t *deadline = json_object_get(problem, "deadline"), *gpus = json_object_get(problem, "gpus");
	bool dated = json_is_string(deadline) && json_string_length(deadline);
	return json_pack("{s:O, s:O, s:s*, s:O*, s:O*, s:s, s:s, s:s, s:s, s:b}", "name", json_object_get(problem, "name"),
		"task", json_object_get(problem, "bundle"), "harness", sync->harness, "deadline", dated ? deadline : NULL,
		"device", json_array_size(gpus) ? gpus : NULL, "visibility", sync->visibility, "code_visibility", "owner",
		"jit_cache", "yes", "after_deadline", "closed", "force", (int)sync->force);
}

static int
create(struct sync *sync, const char *name, const json_t *problem, struct kettle_error *err)
{
	AUTO_JSON json_t *args = new_arguments(sync, problem), *plan = NULL, *made = NULL;
	struct kettle_error why = {0};
	int rc = cmd_board_create_check(sync->db, sync->env, args, &plan, &why);
	if (rc < 0 && strcmp(why.member, "force") == 0)
		return skip(sync, name, json_string("its deadline has already passed; use `force` to create it"));
	if (rc == 0)
		rc = board_trial_check(sync->trial, name, "force", "create", &why);
	if (rc < 0)
		return report_problem(sync, name, rc, &why, err);
	if (!sync->dry) {
		const struct command_call call = {
			.db = sync->db, .env = sync->env, .actor = sync->actor, .args = args, .trial = sync->trial};
		rc = cmd_board_create(&call, &made, err);
		if (rc == 0)
			rc = mark(sync, name, problem, err);
	}
	sync->joins = true;
	if (rc == 0)
		rc = sync_add(sync, "created", json_string(name));
	if (rc < 0)
		return rc;
	(void)json_array_append(sync->plan, plan);
	return sync_add(sync, "plan",
		json_pack("{s:s, s:s, s:s, s:O, s:O?, s:O*}", "name", name, "set", sync->set, "action", "create", "devices",
			json_object_get(plan, "devices"), "deadline", json_object_get(problem, "deadline"), "remarks",
			json_object_get(made, "remarks")));
}

/* ---- a board that is there ---- */

/* The change that the file asks for; *ret_bundle and *ret_devices hold its borrowed parts. */
static int
read_change(const struct sync *sync, const json_t *problem, struct board_change *change, json_t **ret_bundle,
	json_t **ret_devices, struct kettle_error *err)
{
	const char *deadline = json_text_or_null(problem, "deadline");
	const json_t *gpus = json_object_get(problem, "gpus");
	int rc =
		task_check_harness(sync->env->languages, json_object_get(problem, "bundle"), sync->harness, ret_bundle, err);
	if (rc == 0)
		rc = competition_deadline(deadline, &change->deadline_at, err);
	if (rc < 0)
		return rc;
	if (json_array_size(gpus) == 0)
		gpus = json_object_get(json_object_get(*ret_bundle, "task"), "gpus");
	/* Neither names devices: the board keeps its own. */
	if (json_array_size(gpus))
		rc = board_pick_devices(sync->env, gpus, ret_devices, err);
	change->bundle = *ret_bundle;
	change->devices = *ret_devices;
	change->set_deadline = true;
	change->force = sync->force;
	return rc;
}

static json_t *
reason_of_scores(const struct board *board, const json_t *plan)
{
	AUTO_JSON json_t *names = json_array();
	const json_t *differs = json_object_get(plan, "differs");
	long long ranked = member_int(plan, "ranked");
	for (size_t i = 0; i < json_array_size(differs) && i < DIFFERS_SHOWN; i++)
		(void)json_array_append(names, json_array_get(differs, i));
	AUTO_FREE char *what = board_join(names);
	const char *more = json_array_size(differs) > DIFFERS_SHOWN ? " and more" : "";
	if (ranked == 0)
		return json_sprintf("its task runs differently now (%s%s); use `force` to confirm", what ? what : "", more);
	return json_sprintf("its task runs differently now (%s%s): the %lld place%s in the rankings of `%s` would be lost; "
						"use `force` to confirm",
		what ? what : "", more, ranked, ranked == 1 ? "" : "s", board->name);
}

/* Whether the board belongs to the set, or is taken over; else it is skipped. 1: go on. */
static int
check_set(struct sync *sync, const struct board *board, bool *ret_joins, struct kettle_error *err)
{
	AUTO_JSON json_t *current = NULL;
	int rc = board_set_get(sync->db, board, &current, err);
	if (rc < 0)
		return rc;
	const char *set = json_string_value(current);
	*ret_joins = !set || strcasecmp(set, sync->set) != 0;
	if (!*ret_joins || sync->force)
		return 1;
	json_t *reason =
		set ? json_sprintf(
				  "the leaderboard `%s` belongs to the set `%s`; use `force` to take it over", board->name, set)
			: json_sprintf(
				  "there is already a leaderboard `%s` that no set created; use `force` to take it over", board->name);
	return skip(sync, board->name, reason);
}

static int
apply(struct sync *sync, const struct board *board, const struct board_change *change, const json_t *problem,
	bool joins, json_t *plan, struct kettle_error *err)
{
	AUTO_JSON json_t *done = NULL;
	sync->joins = true;
	bool changes = json_array_size(json_object_get(plan, "changes")) > 0;
	int rc = 0;
	if (!sync->dry && changes)
		rc = board_update(sync->db, sync->actor, board, change, &done, err);
	if (rc == 0 && !sync->dry)
		rc = mark(sync, board->name, problem, err);
	if (rc < 0)
		return rc;
	if (!changes && !joins)
		return sync_add(sync, "unchanged", json_string(board->name));
	json_t *entry = json_pack("{s:s, s:s, s:s, s:O?, s:O*}", "name", board->name, "set", sync->set, "action", "update",
		"deadline", json_object_get(problem, "deadline"), "devices", change->devices);
	(void)json_object_update(entry, plan);
	if (joins)
		(void)json_array_append_new(json_object_get(entry, "changes"), json_string("set"));
	(void)sync_add(sync, "plan", entry);
	return sync_add(sync, "updated", json_string(board->name));
}

static int
update(struct sync *sync, const struct board *board, const json_t *problem, struct kettle_error *err)
{
	struct board_change change = {0};
	struct kettle_error why = {0};
	AUTO_JSON json_t *bundle = NULL, *devices = NULL, *plan = NULL;
	bool joins = false;
	int rc = board_check_owner(sync->actor, board, &why);
	if (rc < 0)
		return report_problem(sync, board->name, rc, &why, err);
	rc = check_set(sync, board, &joins, err);
	if (rc <= 0)
		return rc;
	rc = read_change(sync, problem, &change, &bundle, &devices, &why);
	if (rc < 0)
		return report_problem(sync, board->name, rc, &why, err);
	rc = board_update_plan(sync->db, board, &change, &plan, err);
	if (rc < 0)
		return rc;
	const char *scores = json_text_or_null(plan, "scores");
	if (scores && strcmp(scores, "left") == 0 && !sync->force)
		return skip(sync, board->name, reason_of_scores(board, plan));
	return apply(sync, board, &change, problem, joins, plan, err);
}

/* ---- all of them ---- */

/* Without case, as names are compared. New string. */
static char *
fold(const char *name)
{
	char *folded = xstrdup(name);
	for (char *at = folded; *at; at++)
		*at = *at >= 'A' && *at <= 'Z' ? (char)(*at - 'A' + 'a') : *at;
	return folded;
}

static int
sync_problem(struct sync *sync, const json_t *problem, struct kettle_error *err)
{
	const char *name = json_text_or_null(problem, "name");
	const char *error = json_text_or_null(problem, "error");
	struct board board;
	struct kettle_error why = {0};
	bool there = false;
	AUTO_FREE char *folded = fold(name);
	if (json_object_get(sync->names, folded))
		return sync_add(sync, "errors",
			json_pack("{s:s, s:s}", "name", name, "error", "Two problems have this name; the first one is used."));
	(void)json_object_set_new(sync->names, folded, json_true());
	if (error || !json_is_object(json_object_get(problem, "bundle")))
		return sync_add(
			sync, "errors", json_pack("{s:s, s:s}", "name", name, "error", error ? error : "Its task was not sent."));
	int rc = board_exists(sync->db, name, &there, err);
	if (rc < 0)
		return rc;
	if (!there)
		return create(sync, name, problem, err);
	rc = board_find(sync->db, sync->actor, name, &board, &why);
	return rc < 0 ? report_problem(sync, name, rc, &why, err) : update(sync, &board, problem, err);
}

/* Boards of the set that the file no longer has: they stay. */
static int
find_absent(struct sync *sync, struct kettle_error *err)
{
	AUTO_JSON json_t *boards = NULL;
	int rc = board_set_list(sync->db, sync->set, &boards, err);
	json_array_each(boards, board) {
		const char *name = json_text_or_empty(board, "name");
		AUTO_FREE char *folded = fold(name);
		if (member_true(board, "listed") && !json_object_get(sync->names, folded))
			(void)sync_add(sync, "absent", json_string(name));
	}
	return rc;
}

/* A set that has boards already keeps its name, even one that is refused for new sets. */
static int
check_set_name(struct db *db, const char *name, struct kettle_error *err)
{
	AUTO_JSON json_t *boards = NULL;
	AUTO_FREE char *normal = name_normal(name, SET_NAME_MAX);
	int rc = board_set_list(db, name, &boards, err);
	if (rc < 0 || json_array_size(boards) > 0)
		return rc;
	if (!*normal)
		return kettle_fail(err, KETTLE_EINVAL, "The name of a set has no visible characters.");
	if (strcmp(normal, name) != 0)
		return kettle_fail(err, KETTLE_EINVAL,
			"The name of a set, `%.200s`, has invisible characters or variant forms of letters; write it as "
			"`%s`.",
			name, normal);
	return name_check_scripts("The name of a set", name, err);
}

/* A client that knows no descriptions of sets sends none, and leaves it as it is. */
static int
sync_description(struct sync *sync, const json_t *set, struct kettle_error *err)
{
	const char *text = json_text_or_null(set, "description");
	struct kettle_error why = {0};
	bool changes = false;
	if (!text)
		return 0;
	AUTO_FREE char *description = sanitize_text(text, BOARD_DESCRIPTION_MAX);
	int rc = board_set_describe(sync->db, sync->actor, sync->set, description, sync->joins, sync->dry, &changes, &why);
	if (rc == KETTLE_EACCES)
		return sync_add(sync, "skipped", json_pack("{s:s, s:s}", "name", sync->set, "reason", why.message));
	if (rc < 0)
		return kettle_fail(err, rc, "%s", why.message);
	return changes ? sync_add(sync, "described", json_string(sync->set)) : 0;
}

static int
sync_set(struct sync *sync, const json_t *set, struct kettle_error *err)
{
	const char *error = json_text_or_null(set, "error");
	if (error)
		return sync_add(sync, "errors", json_pack("{s:O, s:s}", "name", json_object_get(set, "name"), "error", error));
	int rc = check_set_name(sync->db, json_text_or_null(set, "name"), err);
	sync->set = json_text_or_null(set, "name");
	sync->joins = false;
	sync->file = json_object_get(set, "file");
	sync->standings = json_object_get(set, "standings");
	json_array_each(json_object_get(set, "problems"), problem)
		if (rc == 0)
			rc = sync_problem(sync, problem, err);
	if (rc == 0)
		rc = sync_description(sync, set, err);
	return rc < 0 ? rc : find_absent(sync, err);
}

int
cmd_competition_sync(const struct command_call *call, json_t **ret_result, struct kettle_error *err)
{
	const json_t *problems = json_object_get(call->args, "problems");
	AUTO_JSON json_t *schema = NULL, *names = json_object(), *plan = json_array();
	bool dry = call->plans || member_true(call->args, "dry_run"), force = member_true(call->args, "force");
	AUTO_JSON json_t *result = json_pack("{s:[], s:[], s:[], s:[], s:[], s:[], s:[], s:[], s:b}", "created", "updated",
		"unchanged", "skipped", "errors", "absent", "described", "plan", "dry_run", dry);
	struct sync sync = {
		.db = call->db,
		.env = call->env,
		.actor = call->actor,
		.force = force,
		.dry = dry,
		.visibility = json_text_or_null(call->args, "visibility"),
		.harness = json_text_or_null(call->args, "harness"),
		.names = names,
		.result = result,
		.trial = call->trial,
		.plan = call->plans && !force ? plan : NULL,
	};
	int rc = schema_load(sets_schema, &schema, err);
	if (rc == 0)
		rc = schema_check(schema, problems, "problems", NULL, err);
	json_array_each(json_object_get(problems, "sets"), set)
		if (rc == 0)
			rc = sync_set(&sync, set, err);
	if (rc == 0)
		*ret_result = call->plans ? STEAL(plan) : STEAL(result);
	return rc;
}

/* ---- shown ---- */

int
cmd_competition_list(const struct command_call *call, json_t **ret_result, struct kettle_error *err)
{
	return standings_competitions(call->db, call->actor, ret_result, err);
}

int
cmd_competition_show(const struct command_call *call, json_t **ret_result, struct kettle_error *err)
{
	const char *name = json_text_or_null(call->args, "name");
	AUTO_JSON json_t *boards = NULL, *page = NULL, *description = NULL;
	bool has_standings = false;
	int rc = standings_boards(call->db, call->actor, name, &boards, &has_standings, err);
	if (rc == 0 && has_standings)
		rc = standings_page(
			call->db, boards, member_int(call->args, "limit"), member_int(call->args, "offset"), &page, err);
	if (rc == 0)
		rc = board_set_description(call->db, name, &description, err);
	if (rc == 0)
		*ret_result = json_pack("{s:s, s:O, s:O, s:O?, s:O?}", "name", name, "description", description, "leaderboards",
			boards, "count", json_object_get(page, "count"), "standings", json_object_get(page, "entries"));
	return rc;
}
