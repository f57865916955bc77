/* SPDX-License-Identifier: MIT */
/* What is behind a leaderboard: its task with the plans, its templates; who may see it. */
#include <config.h>

#include "unit/command_fixture.h"

#include "base/cleanup.h"
#include "base/popcorn_header.h"
#include "lib/unit_test.h"

#include <string.h>

COMMANDS_FIXTURE()

/* A board with templates, each given as {name: {file_name, text}}, and the lines of task.yml for them. */
static void
board_with(const char *yml, json_t *templates_take, json_t *more_take)
{
	json_t *task = commands_task(yml);
	if (templates_take)
		(void)json_object_set_new(task, "templates", templates_take);
	json_t *args = json_pack("{s:s, s:o, s:[s, s]}", "name", "arena", "task", task, "device", "CPU", "H100");
	(void)json_object_update_new(args, more_take);
	commands_must(&c, "owner", "leaderboard.create", args);
}

/* ---- the task ---- */

static const json_t *
plan_of(const json_t *result, const char *device, const char *mode)
{
	size_t i;
	json_t *row;
	json_array_foreach(json_object_get(result, "plans"), i, row) {
		if (strcmp(commands_text(row, "device"), device) == 0 && strcmp(commands_text(row, "mode"), mode) == 0)
			return json_object_get(row, "plan");
	}
	return NULL;
}

static void
test_task(void **state)
{
	(void)state;
	board_with(NULL, NULL, json_object());
	const json_t *result = commands_must(&c, "alice", "leaderboard.task", json_pack("{s:s}", "name", "ARENA"));
	assert_string_equal(commands_text(result, "leaderboard"), "arena");
	assert_non_null(strstr(commands_text(result, "yml"), "description: adds"));
	const json_t *file = json_object_get(json_object_get(result, "files"), "eval.cpp");
	assert_string_equal(commands_text(file, "text"), "int main;\n");
	assert_string_equal(commands_text(result, "submission"), "submission.cpp");
	assert_int_equal(json_array_size(commands_at(result, "plans")), 8);
	const json_t *plan = plan_of(result, "H100", "ranked");
	assert_non_null(plan);
	/* Contents that are there already are named, not repeated. */
	const json_t *files = json_object_get(plan, "files");
	assert_string_equal(commands_text(json_object_get(files, "eval.cpp"), "task"), "eval.cpp");
	assert_true(json_is_true(json_object_get(json_object_get(files, "submission.cpp"), "submission")));
	size_t i, secrets = 0;
	json_t *step;
	json_array_foreach(json_object_get(plan, "steps"), i, step) {
		const json_t *secret = json_object_get(step, "secret");
		secrets += secret != NULL;
		if (secret)
			assert_string_equal(commands_text(secret, "POPCORN_SEED"), "<drawn for each submission>");
	}
	assert_int_equal(secrets, 3);
	assert_null(plan_of(result, "H100", "leaderboard"));
	result = commands_must(&c, "alice", "leaderboard.task",
		json_pack("{s:s, s:s, s:s}", "name", "arena", "device", "cpu", "mode", "test"));
	assert_int_equal(json_array_size(commands_at(result, "plans")), 1);
	assert_non_null(plan_of(result, "CPU", "test"));
	commands_refused(
		&c, "alice", "leaderboard.task", json_pack("{s:s, s:s}", "name", "arena", "device", "H200"), KETTLE_EINVAL);
}

/* Nothing of a submission's own: the seeds that are stored are in no answer. */
static void
test_no_seed(void **state)
{
	(void)state;
	board_with(NULL, NULL, json_object());
	commands_submit(&c, "alice", "arena", "ranked");
	fixture_sql(&c.f, "UPDATE jobs SET seed = 1987654321");
	const json_t *result = commands_must(&c, "owner", "leaderboard.task", json_pack("{s:s}", "name", "arena"));
	AUTO_FREE char *text = json_dumps(result, 0);
	assert_null(strstr(text, "1987654321"));
}

static void
test_device_that_is_gone(void **state)
{
	(void)state;
	board_with(NULL, NULL, json_object());
	fixture_sql(&c.f, "UPDATE leaderboard_devices SET device = 'T4' WHERE device = 'H100'");
	const json_t *result = commands_must(
		&c, "alice", "leaderboard.task", json_pack("{s:s, s:s, s:s}", "name", "arena", "device", "T4", "mode", "test"));
	assert_string_equal(commands_text(result, "plans.0.error"), "The device `T4` is not configured at the moment.");
}

/* What the machine's speed adds is shown as jobs get it. */
static void
test_calibration(void **state)
{
	(void)state;
	board_with(NULL, NULL, json_object());
	fixture_sql(&c.f,
		"INSERT INTO device_units (device, unit, key, changed_at, calibration_json) VALUES ('CPU', 'x', '{}', 0, "
		"'{\"names\": {\"cpu-c-1\": 1234.5}}')");
	const json_t *result = commands_must(&c, "alice", "leaderboard.task",
		json_pack("{s:s, s:s, s:s}", "name", "arena", "device", "CPU", "mode", "test"));
	AUTO_FREE char *text = json_dumps(commands_at(result, "plans"), 0);
	assert_non_null(strstr(text, "cpu-c-1=1234.5"));
	fixture_sql(&c.f, "UPDATE leaderboard_devices SET device = 'cpu' WHERE device = 'CPU'");
	result = commands_must(&c, "alice", "leaderboard.task",
		json_pack("{s:s, s:s, s:s}", "name", "arena", "device", "cpu", "mode", "test"));
	assert_non_null(commands_at(result, "plans.0.plan"));
}

static void
test_closed(void **state)
{
	(void)state;
	board_with(NULL, NULL, json_pack("{s:s}", "visibility", "closed"));
	static const char *const names[] = {"leaderboard.task", "leaderboard.template"};
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		commands_refused(&c, "alice", names[i], json_pack("{s:s}", "name", "arena"), KETTLE_ENOENT);
	commands_must(&c, "owner", "leaderboard.task", json_pack("{s:s}", "name", "arena"));
}

/* ---- templates ---- */

static json_t *
template_of(const char *file_name, const char *text)
{
	return json_pack("{s:s, s:s}", "file_name", file_name, "text", text);
}

static void
test_template(void **state)
{
	(void)state;
	board_with("templates: {CPP: a.cpp}\n",
		json_pack("{s:o}", "CPP",
			template_of("a.cpp", "//!POPCORN leaderboard another\n// hello\n\n//!POPCORN gpu T4\nint x;\n"
								 "//!POPCORN leaderboard not-here\n")),
		json_pack("{s:s, s:s}", "description", "One.\n\nTwo: !POPCORN gpus X\n!POPCORN", "deadline", "2031-02-03"));
	const json_t *result = commands_must(&c, "alice", "leaderboard.template", json_pack("{s:s}", "name", "arena"));
	assert_int_equal(json_array_size(commands_at(result, "templates")), 1);
	assert_string_equal(commands_text(result, "templates.0.file_name"), "a.cpp");
	assert_string_equal(commands_text(result, "templates.0.source"), "template");
	const char *text = commands_text(result, "templates.0.text");
	assert_string_equal(text, "//!POPCORN leaderboard arena\n//!POPCORN gpus CPU H100\n//\n// One.\n//\n"
							  "// Two: !POPCORN gpus X\n// !POPCORN\n//\n// Deadline: 2031-02-03 23:59 UTC\n\n"
							  "// hello\n\nint x;\n//!POPCORN leaderboard not-here\n");
	/* What it says is what a submission needs to say. */
	AUTO_JSON json_t *header = NULL;
	struct kettle_error err = {0};
	assert_int_equal(popcorn_header_parse(text, strlen(text), &header, &err), 0);
	assert_string_equal(commands_text(header, "leaderboard"), "arena");
	assert_string_equal(commands_text(header, "gpus.1"), "H100");
	commands_refused(
		&c, "alice", "leaderboard.template", json_pack("{s:s, s:s}", "name", "arena", "lang", "Triton"), KETTLE_EINVAL);
}

static void
test_several_templates(void **state)
{
	(void)state;
	board_with("templates: {CPP: a.cpp, Fast: b.cpp}\n",
		json_pack("{s:o, s:o}", "CPP", template_of("a.cpp", "int a;\n"), "Fast", template_of("b.py", "b = 1\n")),
		json_object());
	const json_t *result = commands_must(&c, "alice", "leaderboard.template", json_pack("{s:s}", "name", "arena"));
	assert_int_equal(json_array_size(commands_at(result, "templates")), 2);
	/* Comments are those of the file's language. */
	assert_non_null(strstr(commands_text(result, "templates.1.text"), "#!POPCORN leaderboard arena\n"));
	assert_non_null(strstr(commands_text(result, "templates.1.text"), "# Deadline: none\n\nb = 1\n"));
	result =
		commands_must(&c, "alice", "leaderboard.template", json_pack("{s:s, s:s}", "name", "arena", "lang", "fast"));
	assert_string_equal(commands_text(result, "templates.0.language"), "Fast");
	/* A language stands for its templates. */
	result =
		commands_must(&c, "alice", "leaderboard.template", json_pack("{s:s, s:s}", "name", "arena", "lang", "c++"));
	assert_int_equal(json_array_size(commands_at(result, "templates")), 1);
	assert_string_equal(commands_text(result, "templates.0.language"), "CPP");
}

static void
test_skeleton(void **state)
{
	(void)state;
	board_with(NULL, NULL, json_object());
	const json_t *result = commands_must(&c, "alice", "leaderboard.template", json_pack("{s:s}", "name", "arena"));
	assert_string_equal(commands_text(result, "templates.0.source"), "skeleton");
	assert_non_null(strstr(commands_text(result, "templates.0.text"), "//!POPCORN gpus CPU H100\n"));
	commands_must(&c, "alice", "leaderboard.template", json_pack("{s:s, s:s}", "name", "arena", "lang", "cpp"));
	commands_refused(
		&c, "alice", "leaderboard.template", json_pack("{s:s, s:s}", "name", "arena", "lang", "py"), KETTLE_EINVAL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
static const struct CMUnitTest tests[] = {
	TEST(test_task),
	TEST(test_no_seed),
	TEST(test_device_that_is_gone),
	TEST(test_calibration),
	TEST(test_closed),
	TEST(test_template),
	TEST(test_several_templates),
	TEST(test_skeleton),
};

UNIT_TESTS(test_cmd_board_task);
