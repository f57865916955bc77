/* SPDX-License-Identifier: MIT */
/* Commands that show a leaderboard's task with its plans, and its templates. */
#include <config.h>

#include "commands/handlers.h"

#include "base/base.h"
#include "base/popcorn_header.h"
#include "base/text.h"
#include "judge/plan.h"
#include "judge/unit_facts.h"
#include "model/blobs.h"
#include "model/board.h"
#include "model/settings.h"

static const char *const all_modes[] = {"ranked", "test", "benchmark", "profile"};

/* The board, if the actor may see it, and its whole task. */
static int
template_load(const struct command_call *call, struct board *ret_board, json_t **ret_bundle, struct kettle_error *err)
{
	int rc = board_find_visible(call->db, call->actor, json_text_or_null(call->args, "name"), ret_board, err);
	return rc < 0 ? rc : blobs_get_task(call->db, ret_board->task, ret_bundle, err);
}

/* ---- plans as they are shown ---- */

/* The name of the task's file with these contents; NULL: the contents are the language's own. */
static const char *
task_file(const json_t *files, const json_t *contents)
{
	json_object_each(files, name, file) {
		if (json_equal(file, contents))
			return name;
	}
	return NULL;
}

/* Replaces contents that are a file of the task by its name. */
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

/* The plan as it is shown. A copy: the language may share parts of it between plans. */
static json_t *
shown_plan(const json_t *plan, const json_t *bundle)
{
	json_t *shown = json_deep_copy(plan);
	const json_t *files = json_object_get(bundle, "files");
	const char *submission = json_text_or_null(bundle, "submission");
	if (!shown)
		return NULL;
	shorten(json_object_get(shown, "files"), files);
	if (json_object_get(json_object_get(shown, "files"), submission))
		(void)json_object_set_new(json_object_get(shown, "files"), submission, json_pack("{s:b}", "submission", 1));
	json_array_each(json_object_get(shown, "steps"), step) {
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

/* The first unit of a device as the engine gives it to a language: its section, its name and its calibration. */
static int
load_unit(const struct plans *plans, const char *device, json_t **ret_unit, struct kettle_error *err)
{
	const char *name = NULL;
	const json_t *units = NULL;
	int rc = board_configured_units(plans->env, device, &name, &units, err);
	if (rc < 0)
		return rc;
	AUTO_JSON json_t *unit = json_object(), *label = json_sprintf("%s.0", name), *calibration = NULL;
	(void)json_object_update(unit, json_array_get(units, 0));
	AUTO_FREE char *key = unit_key(unit);
	rc = settings_unit_calibration(plans->db, name, key, &calibration, err);
	if (rc < 0)
		return rc;
	(void)json_object_set_new(unit, "name", json_string(name));
	(void)json_object_set(unit, "unit", label);
	if (json_is_object(calibration))
		(void)json_object_set(unit, "calibration", calibration);
	*ret_unit = STEAL(unit);
	return 0;
}

/* The plan, or the error that prevents it here. */
static int
make_plan(const struct plans *plans, const char *device, const char *mode, json_t **ret_plan, struct kettle_error *err)
{
	AUTO_JSON json_t *unit = NULL;
	AUTO_PLAN struct plan *plan = NULL;
	int rc = load_unit(plans, device, &unit, err);
	/* The seed is a placeholder: the secrets made from it are replaced. */
	if (rc == 0)
		rc = plan_make(plans->env->languages, plans->bundle, "", mode, unit, "0", NULL, &plan, err);
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
			&why, KETTLE_ETOOBIG, "The plans are too large for one answer: select one device and one mode.");
	else
		plans->bytes += bytes;
	json_t *row = rc < 0 ? json_pack("{s:s, s:s, s:s}", "device", device, "mode", mode, "error", why.message)
						 : json_pack("{s:s, s:s, s:O}", "device", device, "mode", mode, "plan", plan);
	(void)json_array_append_new(plans->list, row);
}

int
cmd_board_task(const struct command_call *call, json_t **ret_result, struct kettle_error *err)
{
	struct board board;
	AUTO_JSON json_t *bundle = NULL, *devices = NULL, *list = json_array();
	int rc = template_load(call, &board, &bundle, err);
	if (rc == 0)
		rc = board_choose_devices(call->db, &board, json_text_or_null(call->args, "device"), &devices, err);
	if (rc < 0)
		return rc;
	struct plans plans = {.db = call->db, .env = call->env, .bundle = bundle, .list = list};
	const char *mode = json_text_or_null(call->args, "mode");
	for (size_t i = 0; i < json_array_size(devices); i++)
		for (size_t j = 0; j < ARRAY_SIZE(all_modes); j++)
			if (!mode || strcmp(mode, all_modes[j]) == 0)
				add_plan(&plans, json_string_value(json_array_get(devices, i)), all_modes[j]);
	*ret_result = json_pack("{s:s, s:O?, s:O?, s:O?, s:O?, s:O?, s:O?, s:O?, s:O?}", "leaderboard", board.name, "name",
		json_object_get(bundle, "name"), "yml", json_object_get(bundle, "yml"), "task", json_object_get(bundle, "task"),
		"submission", json_object_get(bundle, "submission"), "files", json_object_get(bundle, "files"), "templates",
		json_object_get(bundle, "templates"), "hash", json_object_get(bundle, "hash"), "plans", list);
	return 0;
}

/* ---- templates ---- */

/* ---- the text ---- */

static void
add_directives(struct buf *text, const char *comment, const json_t *board)
{
	const json_t *devices = json_object_get(board, "gpu_types");
	size_t count = json_array_size(devices);
	buf_printf(text, "%s!POPCORN leaderboard %s\n", comment, json_text_or_empty(board, "name"));
	/* More devices than a header may name: the submitter chooses. */
	if (count == 0 || count > HEADER_MAX_DEVICES)
		return;
	buf_printf(text, "%s!POPCORN gpus", comment);
	json_array_each(devices, device)
		buf_printf(text, " %s", json_string_value(device));
	buf_adds(text, "\n");
}

/* The whole file; new string. */
static char *
compose(const json_t *board, const char *comment, const char *code)
{
	AUTO_BUF struct buf text = {0};
	const char *description = json_text_or_empty(board, "description"),
			   *deadline = json_text_or_empty(board, "deadline");
	add_directives(&text, comment, board);
	buf_printf(&text, "%s\n", comment);
	while (*description) {
		size_t len = strcspn(description, "\n");
		buf_printf(&text, "%s%s%.*s\n", comment, len ? " " : "", (int)len, description);
		description += len + (description[len] == '\n');
	}
	if (*deadline)
		buf_printf(&text, "%s\n%s Deadline: %.10s %.5s UTC\n\n", comment, comment, deadline, deadline + 11);
	else
		buf_printf(&text, "%s\n%s Deadline: none\n\n", comment, comment);
	popcorn_header_strip(code, strlen(code), &text);
	return buf_take(&text);
}

/* ---- the choice ---- */

struct template_choice {
	const struct languages *languages;
	const struct language *language; /* of the board; NULL: not loaded */
	const json_t *board;
	json_t *starters;
};

static bool
lists(const char *const *names, const char *word)
{
	for (; names && *names; names++)
		if (strcasecmp(*names, word) == 0)
			return true;
	return false;
}

/* The prefix of comments in a file: of the board's language if it takes such files, else of the first that does. */
static const char *
comment_of(const struct template_choice *choice, const char *file_name)
{
	const char *dot = strrchr(file_name, '.');
	const struct language *found = choice->language;
	if (dot && !(found && lists(found->ops->extensions, dot)))
		for (size_t i = 0; i < choice->languages->count; i++)
			if (lists(choice->languages->items[i].ops->extensions, dot)) {
				found = &choice->languages->items[i];
				break;
			}
	return found && found->ops->comment ? found->ops->comment : "#";
}

static void
template_add(
	struct template_choice *choice, const char *name, const char *file_name, const char *code, const char *source)
{
	AUTO_FREE char *text = compose(choice->board, comment_of(choice, file_name), code);
	json_array_append_new(choice->starters,
		json_pack("{s:s, s:s, s:s, s:s}", "language", name, "file_name", file_name, "text", text, "source", source));
}

static void
add_skeletons(struct template_choice *choice, const char *wanted)
{
	const struct language *language = choice->language;
	bool whole = !wanted || language_find(choice->languages, wanted) == language;
	for (size_t i = 0; language && i < language->ops->skeletons_count; i++) {
		const struct kettle_skeleton *one = &language->ops->skeletons[i];
		if (!whole && strcasecmp(wanted, one->template_name) != 0)
			continue;
		template_add(choice, one->template_name, one->file_name, one->text, "skeleton");
	}
}

static int
fail_nothing(
	const struct template_choice *choice, const json_t *templates, const char *wanted, struct kettle_error *err)
{
	AUTO_JSON json_t *names = json_array();
	json_object_each(templates, name, one)
		json_array_append_new(names, json_string(name));
	size_t skeletons =
		choice->language && json_object_size(templates) == 0 ? choice->language->ops->skeletons_count : 0;
	for (size_t i = 0; i < skeletons; i++)
		json_array_append_new(names, json_string(choice->language->ops->skeletons[i].template_name));
	AUTO_FREE char *all = board_join(names);
	if (!wanted || json_array_size(names) == 0)
		return kettle_fail(err, KETTLE_ENOENT,
			"The leaderboard `%s` has no template, and its language has no skeleton.",
			json_text_or_empty(choice->board, "name"));
	return kettle_fail(err, KETTLE_EINVAL, "The leaderboard `%s` has no template `%.64s`; it has %s.",
		json_text_or_empty(choice->board, "name"), wanted, all ? all : "none");
}

/*
 * [{"language": name of the template, "file_name", "text", "source": "template" or "skeleton"}] for a board as
 * board_object shows it. templates: of its task's bundle. wanted: the name of a template, or a language by name or
 * alias (all of its templates; without one, its skeletons where it is the board's); NULL: all templates, without one
 * the skeletons. The text begins with the header, description and deadline as comments; a template's own directives are
 * left out. EINVAL: nothing of that name; ENOENT: there is nothing to start from. New array.
 */
static int
list_starters(const struct languages *languages, const json_t *board, const json_t *templates, const char *wanted,
	json_t **ret_starters, struct kettle_error *err)
{
	AUTO_JSON json_t *starters = json_array();
	struct template_choice choice = {
		.languages = languages,
		.language = language_find(languages, json_text_or_empty(json_object_get(board, "task"), "lang")),
		.board = board,
		.starters = starters,
	};
	const struct language *language = wanted ? language_find(choice.languages, wanted) : NULL;
	json_object_each(templates, name, one) {
		bool of_language = language && lists(language->ops->template_names, name);
		if (wanted && strcasecmp(wanted, name) != 0 && !of_language)
			continue;
		template_add(&choice, name, json_text_or_empty(one, "file_name"), json_text_or_empty(one, "text"), "template");
	}
	if (json_array_size(starters) == 0 && (wanted || json_object_size(templates) == 0))
		add_skeletons(&choice, wanted);
	if (json_array_size(starters) == 0)
		return fail_nothing(&choice, templates, wanted, err);
	*ret_starters = STEAL(starters);
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
		rc = list_starters(call->env->languages, object, json_object_get(bundle, "templates"),
			json_text_or_null(call->args, "lang"), &starters, err);
	if (rc == 0)
		*ret_result = json_pack("{s:s, s:O}", "leaderboard", board.name, "templates", starters);
	return rc;
}
