/* SPDX-License-Identifier: MIT */
/* Commands that hand out what is behind a leaderboard: its task with the plans, its templates. */
#include <config.h>

#include "commands/handlers.h"

#include "base/cleanup.h"
#include "base/json_access.h"
#include "judge/plan.h"
#include "model/blobs.h"
#include "model/board.h"
#include "model/board_template.h"
#include "model/settings.h"

#include <string.h>
#include <strings.h>

static const char *const all_modes[] = {"ranked", "test", "benchmark", "profile"};

/* The board, where the actor may see it, and the whole of its task. */
static int
template_load(const struct command_call *call, struct board *ret_board, json_t **ret_bundle, struct kettle_error *err)
{
	int rc = board_find_visible(call->db, call->actor, member_string(call->args, "name"), ret_board, err);
	return rc < 0 ? rc : blobs_get_task(call->db, ret_board->task, ret_bundle, err);
}

/* ---- plans as they are shown ---- */

/* What a content is: a file of the task, by its name; NULL: something of the language's own. */
static const char *
task_file(const json_t *files, const json_t *contents)
{
	const char *name;
	json_t *file;
	json_object_foreach((json_t *)files, name, file) {
		if (json_equal(file, contents))
			return name;
	}
	return NULL;
}

/* Contents that everybody has beside the plan become a word for them. */
static void
shorten(json_t *inputs, const json_t *files)
{
	const char *name;
	json_t *contents;
	void *next;
	json_object_foreach_safe(inputs, next, name, contents) {
		bool bytes = json_object_get(contents, "text") || json_object_get(contents, "base64");
		const char *of_task = bytes ? task_file(files, contents) : NULL;
		if (of_task)
			(void)json_object_set_new(inputs, name, json_pack("{s:s}", "task", of_task));
	}
}

static void
hide_secrets(json_t *step)
{
	json_t *secret = json_object_get(step, "secret"), *value;
	const char *name;
	void *next;
	json_object_foreach_safe(secret, next, name, value) {
		(void)json_object_set_new(secret, name, json_string(BOARD_SECRET));
	}
}

/* Its own copy of what the language may share with others. */
static json_t *
shown_plan(const json_t *plan, const json_t *bundle)
{
	json_t *shown = json_deep_copy(plan), *step;
	const json_t *files = json_object_get(bundle, "files");
	const char *submission = member_string(bundle, "submission");
	size_t i;
	if (!shown)
		return NULL;
	shorten(json_object_get(shown, "files"), files);
	if (json_object_get(json_object_get(shown, "files"), submission))
		(void)json_object_set_new(json_object_get(shown, "files"), submission, json_pack("{s:b}", "submission", 1));
	json_array_foreach(json_object_get(shown, "steps"), i, step) {
		shorten(json_object_get(step, "inputs"), files);
		shorten(json_object_get(json_object_get(step, "referee"), "inputs"), files);
		shorten(json_object_get(json_object_get(step, "solver"), "inputs"), files);
		hide_secrets(step);
	}
	return shown;
}

struct plans {
	struct db *db;
	const struct command_env *env;
	const json_t *bundle;
	json_t *list;
	size_t bytes;
};

/* The units of a device, for the first of which its jobs are planned; NULL: it is not configured. Borrowed. */
static const json_t *
units_of(const struct command_env *env, const char *device, const char **ret_name)
{
	const char *name;
	json_t *configured;
	json_object_foreach((json_t *)env->devices, name, configured) {
		*ret_name = name;
		if (strcasecmp(name, device) == 0)
			return json_object_get(configured, "units");
	}
	return NULL;
}

/* It as the engine gives it to a language: its section with name and what the calibrators take there. */
static int
load_unit(const struct plans *plans, const char *device, json_t **ret_unit, struct kettle_error *err)
{
	const char *name = NULL;
	const json_t *units = units_of(plans->env, device, &name);
	if (!units)
		return kettle_fail(err, KETTLE_EUNAVAIL, "The device `%s` is not configured at the moment.", device);
	AUTO_JSON json_t *unit = json_object(), *label = json_sprintf("%s.0", name), *calibration = NULL;
	(void)json_object_update(unit, json_array_get(units, 0));
	int rc = settings_unit_calibration(plans->db, name, json_string_value(label), &calibration, err);
	if (rc < 0)
		return rc;
	(void)json_object_set_new(unit, "name", json_string(name));
	(void)json_object_set(unit, "unit", label);
	if (json_is_object(calibration))
		(void)json_object_set(unit, "calibration", calibration);
	*ret_unit = STEAL(unit);
	return 0;
}

/* The plan, or the sentence why there is none here. */
static int
make_plan(const struct plans *plans, const char *device, const char *mode, json_t **ret_plan, struct kettle_error *err)
{
	AUTO_JSON json_t *unit = NULL;
	AUTO_PLAN struct plan *plan = NULL;
	int rc = load_unit(plans, device, &unit, err);
	/* No seed of anybody's: what stands for it is replaced. */
	if (rc == 0)
		rc = task_plan(plans->env->languages, plans->bundle, "", mode, unit, "0", &plan, err);
	if (rc == 0)
		*ret_plan = shown_plan(plan->json, plans->bundle);
	return rc;
}

static void
add_plan(struct plans *plans, const char *device, const char *mode)
{
	AUTO_JSON json_t *plan = NULL;
	struct kettle_error why = {0};
	int rc = make_plan(plans, device, mode, &plan, &why);
	size_t bytes = plan ? json_dumpb(plan, NULL, 0, JSON_COMPACT) : 0;
	if (plans->bytes + bytes > BOARD_PLANS_BYTES)
		rc = kettle_fail(
			&why, KETTLE_ETOOBIG, "The plans are too large for one answer: name this device and this mode alone.");
	else
		plans->bytes += bytes;
	json_t *row = rc < 0 ? json_pack("{s:s, s:s, s:s}", "device", device, "mode", mode, "error", why.message)
						 : json_pack("{s:s, s:s, s:O}", "device", device, "mode", mode, "plan", plan);
	(void)json_array_append_new(plans->list, row);
}

static void
add_plans(struct plans *plans, const json_t *devices, const json_t *args)
{
	const char *mode = member_string(args, "mode");
	for (size_t i = 0; i < json_array_size(devices); i++)
		for (size_t j = 0; j < ARRAY_SIZE(all_modes); j++)
			if (!mode || strcmp(mode, all_modes[j]) == 0)
				add_plan(plans, json_string_value(json_array_get(devices, i)), all_modes[j]);
}

int
cmd_board_task(const struct command_call *call, json_t **ret_result, struct kettle_error *err)
{
	struct board board;
	AUTO_JSON json_t *bundle = NULL, *devices = NULL, *list = json_array();
	int rc = template_load(call, &board, &bundle, err);
	if (rc == 0)
		rc = board_choose_devices(call->db, &board, member_string(call->args, "device"), &devices, err);
	if (rc < 0)
		return rc;
	struct plans plans = {.db = call->db, .env = call->env, .bundle = bundle, .list = list};
	add_plans(&plans, devices, call->args);
	*ret_result = json_pack("{s:s, s:O, s:O, s:O, s:O, s:O, s:O, s:O, s:O}", "leaderboard", board.name, "name",
		json_object_get(bundle, "name"), "yml", json_object_get(bundle, "yml"), "task", json_object_get(bundle, "task"),
		"submission", json_object_get(bundle, "submission"), "files", json_object_get(bundle, "files"), "templates",
		json_object_get(bundle, "templates"), "hash", json_object_get(bundle, "hash"), "plans", list);
	return 0;
}

int
cmd_board_template(const struct command_call *call, json_t **ret_result, struct kettle_error *err)
{
	struct board board;
	AUTO_JSON json_t *bundle = NULL, *object = NULL, *starters = NULL;
	int rc = template_load(call, &board, &bundle, err);
	if (rc == 0)
		rc = board_object(call->db, board.id, &object, err);
	if (rc == 0)
		rc = board_template_list(call->env->languages, object, json_object_get(bundle, "templates"),
			member_string(call->args, "lang"), &starters, err);
	if (rc == 0)
		*ret_result = json_pack("{s:s, s:O}", "leaderboard", board.name, "templates", starters);
	return rc;
}
