/* SPDX-License-Identifier: MIT */
/* The bot's commands with a whole core behind them: what it answers is what they read. */
#include <config.h>

#include "unit/discord/bot_fixture.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/json_access.h"
#include "base/xalloc.h"
#include "lib/unit_test.h"
#include "unit/core_fixture.h"

static void
on_core_answer(void *arg, const struct kettle_error *err, json_t *result)
{
	struct answer *answer = arg;
	answer->count++;
	answer->err = *err;
	answer->result = json_deep_copy(result);
}

static int
ask_core(const json_t *actor, const char *command, const json_t *args, json_t **ret_result, struct kettle_error *err)
{
	struct answer answer = {0};
	assert_int_equal(core_call(cores.core[0], actor, command, args, on_core_answer, &answer), 0);
	until(answer.count);
	*err = answer.err;
	if (err->code == 0)
		*ret_result = answer.result;
	return err->code;
}

static int
setup(void **state)
{
	void *none = NULL;
	(void)cores_setup(&none);
	cores_close(0);
	(void)cores_make(0, true);
	(void)fixture_setup(state);
	((struct bot_fixture *)*state)->engine = ask_core;
	return 0;
}

static int
teardown(void **state)
{
	(void)fixture_teardown(state);
	return cores_teardown(state);
}

static json_t *
on_board(void)
{
	return json_pack("{s:s}", "leaderboard_name", "arena");
}

static void
test_boards(void **state)
{
	struct bot_fixture *f = *state;
	cores_board(0, "secret", true);
	fixture_says(fixture_run(f, "leaderboard list", NULL), "**arena** · no deadline · CPU");
	fixture_says(fixture_run(f, "leaderboard show", on_board()),
		"**arena** · CPU · 0 ranked · no deadline\nNo user is ranked here yet.");
	fixture_says(
		fixture_run(f, "leaderboard show-personal", on_board()), "You have no ranked submission to **arena**.");
	fixture_says(fixture_run(f, "leaderboard show", json_pack("{s:s}", "leaderboard_name", "secret")),
		"There is no leaderboard `secret`\\.");
	const json_t *message = fixture_run(f, "leaderboard task", on_board());
	fixture_says(message, "The task of **arena**: you submit the file submission\\.cpp.");
	fixture_has_file(f, message, "eval.cpp", "int main;\n");
	message = fixture_run(f, "leaderboard template", on_board());
	fixture_has(message, "Templates for **arena**: ");
	const json_t *answer = cores_must(0, "alice", "leaderboard.template", json_pack("{s:s}", "name", "arena"));
	const json_t *template = json_array_get(json_object_get(answer, "templates"), 0);
	fixture_has_file(f, message, json_text_or_empty(template, "file_name"), json_text_or_empty(template, "text"));
}

static void
test_submission(void **state)
{
	struct bot_fixture *f = *state;
	json_t *args = cores_file("arena"), *result = NULL;
	AUTO_JSON json_t *actor =
		json_pack("{s:s, s:s, s:s}", "provider", "discord", "subject", FIXTURE_ADA, "name", "ada");
	(void)json_object_set_new(args, "no_wait", json_true());
	assert_int_equal(ask_core(actor, "submit", args, &result, &f->err), 0);
	json_decref(args);
	json_decref(result);
	const json_t *message = fixture_run(f, "leaderboard submissions", on_board());
	fixture_has(message, " 1  arena");
	assert_string_equal(fixture_button(message, 0, 0), "cancel:1");
	message = fixture_run(f, "leaderboard get-submission", json_pack("{s:i}", "submission_id", 1));
	fixture_has(message, "Submission 1\\: CPU ");
	fixture_has_file(f, message, "a.cpp", "int a;\n");
	f->user = FIXTURE_BOB;
	fixture_has(fixture_pressed(f, "cancel:1", NULL), "1");
	f->user = FIXTURE_ADA;
	fixture_says(fixture_pressed(f, "cancel:1", NULL), "Cancelled submission 1.");
	f->role = "50";
	fixture_says(fixture_run(f, "admin flag", json_pack("{s:i, s:s}", "submission_id", 1, "reason", "cached")),
		"Marked submission 1 as a cheat; it no longer counts\\.");
	fixture_says(fixture_run(f, "admin unflag", json_pack("{s:i}", "submission_id", 1)),
		"Submission 1 is no longer marked as a cheat and counts again\\.");
	fixture_has(
		fixture_run(f, "admin rerun", json_pack("{s:i}", "submission_id", 1)), "Submission 1 runs again on CPU");
	fixture_has(fixture_run(f, "admin delete-submission", json_pack("{s:i}", "submission_id", 1)),
		"Delete submission 1 of **ada** to **arena**?");
	fixture_says(fixture_pressed(f, "drop:1", NULL), "Deleted submission 1.");
}

static void
test_users(void **state)
{
	struct bot_fixture *f = *state;
	cores_board(0, "secret", true);
	f->role = "50";
	const json_t *message = fixture_run(f, "admin invite", json_pack("{s:s}", "leaderboard_name", "secret"));
	const char *block = strstr(json_text_or_empty(message, "content"), "```\n");
	fixture_has(message, "Each code opens **secret** to one user");
	AUTO_FREE char *code = xstrndup(block + 4, strcspn(block + 4, "\n"));
	f->user = FIXTURE_BOB;
	f->role = NULL;
	fixture_says(fixture_run(f, "leaderboard join", json_pack("{s:s}", "code", code)), "You can now see secret\\.");
	fixture_has(fixture_run(f, "leaderboard list", NULL), "**secret** · no deadline · CPU · closed");
	message = fixture_run(f, "leaderboard link", NULL);
	AUTO_FREE char *link = xstrndup(strchr(json_text_or_empty(message, "content"), '`') + 1, strlen("ABCDE-FGHJK"));
	f->user = FIXTURE_ADA;
	message = fixture_run(f, "leaderboard link", json_pack("{s:s}", "code", link));
	fixture_says(message,
		"This merges the user **bob** (0 submissions; role: user; known as discord bob) into your user "
		"**ada** (0 submissions; role: user; known as discord ada), and cannot be undone.\nPress Merge "
		"only if you created the code yourself: its creator can then do all that you can.");
	AUTO_FREE char *id = xstrdup(fixture_button(message, 0, 0));
	fixture_says(fixture_pressed(f, id, NULL), "**bob** is now part of your user **ada**.");
	fixture_has(fixture_pressed(f, id, NULL), "code");
	/* Also somebody who has not been here yet; not oneself, whatever one's account was. */
	f->role = "50";
	fixture_says(
		fixture_run(f, "admin ban", json_pack("{s:s, s:s}", "user", "79", "reason", "x")), "Banned **79** (<@79>).");
	fixture_says(
		fixture_run(f, "admin unban", json_pack("{s:s}", "user", "79")), "**79** (<@79>) is no longer banned.");
	fixture_says(fixture_run(f, "admin ban", json_pack("{s:s, s:s}", "user", FIXTURE_BOB, "reason", "x")),
		"You cannot ban yourself\\.");
}

static void
test_admin(void **state)
{
	struct bot_fixture *f = *state;
	f->role = "50";
	fixture_has(fixture_run(f, "admin stop", NULL), "Kettle accepts no more submissions until");
	fixture_says(fixture_run(f, "admin start", NULL), "Kettle accepts submissions.");
	fixture_has(fixture_run(f, "admin show-stats", NULL), "0 submissions (0 of them open) of ");
	fixture_has(fixture_run(f, "verifydb", NULL), "```\nok  ");
	fixture_has(fixture_run(f, "admin update", json_pack("{s:s, s:s}", "leaderboard_name", "arena", "deadline", "+7d")),
		"Updated leaderboard arena: deadline.\n  deadline: 20");
	fixture_has(fixture_run(f, "leaderboard list", NULL), "**arena** · ends <t:");
	fixture_has(fixture_run(f, "admin rate-limit",
					json_pack("{s:s, s:s, s:i}", "leaderboard_name", "arena", "category", "test", "per_hour", 6)),
		"test      all together        6");
	fixture_says(
		fixture_run(f, "admin rate-limit", json_pack("{s:s, s:s}", "leaderboard_name", "arena", "category", "test")),
		"Give either a number of submissions per hour \\(`per_hour`\\) or `remove`\\.");
}

/* A reference file that no loaded language takes: its sentence. Then a board is deleted. */
static void
test_create_and_delete(void **state)
{
	struct bot_fixture *f = *state;
	AUTO_FREE char *url = xasprintf("http://127.0.0.1:%d/files/double.cu", f->server.port);
	f->role = "51";
	fixture_has(fixture_run(f, "leaderboard create",
					json_pack("{s:s, s:s, s:{s:s, s:s, s:i}}", "leaderboard_name", "newer", "deadline", "none",
						"reference_code", "filename", "double.cu", "url", url, "size", 2)),
		"makes a CUDA task, for which the language cu is not loaded");
	fixture_has(fixture_run(f, "leaderboard create",
					json_pack("{s:s, s:s, s:{s:s, s:s, s:i}}", "leaderboard_name", "new", "deadline", "none",
						"reference_code", "filename", "double.cu", "url", url, "size", 2)),
		"cannot be the name of a leaderboard");
	/* It is another creator's. */
	fixture_says(fixture_run(f, "leaderboard delete", NULL), "There is no leaderboard that you may delete.");
	f->role = "50";
	assert_string_equal(fixture_button(fixture_run(f, "leaderboard delete", NULL), 0, 0), "delete:");
	size_t before = fixture_count(f);
	fixture_form(f, "deleted:ARENA", json_pack("{s:s}", "name", "arena"));
	fixture_says(fixture_message(f, before), "Deleted leaderboard **arena** and its 0 submissions.");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static const struct CMUnitTest tests[] = {
	TEST(test_boards), TEST(test_submission), TEST(test_users), TEST(test_admin), TEST(test_create_and_delete)};

UNIT_TESTS(test_core);
