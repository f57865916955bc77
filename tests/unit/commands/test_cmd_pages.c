/* SPDX-License-Identifier: MIT */
/* What pages show: the feed of a leaderboard, users, lists; to each actor what the actor may see and nothing more. */
#include <config.h>

#include "unit/command_fixture.h"

#include "base/cleanup.h"
#include "base/json_access.h"
#include "lib/unit_test.h"
#include "model/submissions.h"

#include <string.h>

COMMANDS_FIXTURE(commands_board(&c, "vectors", json_pack("[s, s]", "CPU", "H100")))

static void
finish(int64_t job, const char *state, double score)
{
	commands_finish(&c, job, json_pack("{s:s, s:f}", "state", state, "score", score));
}

/* A ranked submission that passes on CPU. */
static int64_t
ranked(const char *who, const char *board, double score)
{
	int64_t id = commands_submit(&c, who, board, "ranked");
	finish(fixture_int(&c.f, "SELECT max(id) FROM jobs"), "passed", score);
	return id;
}

static void
update(const char *board, const char *key, const char *value)
{
	commands_must(&c, "owner", "leaderboard.update", json_pack("{s:s, s:s}", "name", board, key, value));
}

/* ---- the feed ---- */

/* The numbers of a page as text, and where the next one begins. */
static const char *
feed(const char *who, int64_t before, int limit)
{
	static char text[200];
	size_t i;
	const json_t *row;
	json_t *args = json_pack("{s:s, s:i}", "leaderboard", "VECTORS", "limit", limit);
	if (before)
		(void)json_object_set_new(args, "before", json_integer(before));
	const json_t *page = commands_must(&c, who, "submission.feed", args);
	text[0] = '\0';
	json_array_foreach(commands_at(page, "submissions"), i, row)
		(void)snprintf(text + strlen(text), 20, "%lld ", (long long)commands_number(row, "id"));
	(void)snprintf(text + strlen(text), 20, "%lld", (long long)json_integer_value(commands_at(page, "next")));
	return text;
}

static void
test_feed_of_others(void **state)
{
	(void)state;
	ranked("alice", "vectors", 2.0);
	ranked("alice", "vectors", 1.0);
	ranked("bob", "vectors", 3.0);
	commands_submit(&c, "alice", "vectors", "test");
	commands_submit(&c, "bob", "vectors", "ranked");
	/* Others see what the ranking has; each user also all of their own, and the creator everything. */
	assert_string_equal(feed("eve", 0, 50), "3 2 0");
	assert_string_equal(feed("alice", 0, 50), "4 3 2 1 0");
	assert_string_equal(feed("owner", 0, 50), "5 4 3 2 1 0");
	assert_string_equal(feed("dave:admin", 0, 50), "5 4 3 2 1 0");
	/* Where the code is shown, so is each ranked one that passed. */
	update("vectors", "code_visibility", "always");
	assert_string_equal(feed("eve", 0, 50), "3 2 1 0");
	commands_must(&c, "owner", "submission.flag", json_pack("{s:i, s:s}", "id", 3, "reason", "copied"));
	assert_string_equal(feed("eve", 0, 50), "2 1 0");
	commands_must(&c, "owner", "user.ban", json_pack("{s:s, s:s}", "name", "alice", "reason", "spam"));
	assert_string_equal(feed("eve", 0, 50), "0");
	update("vectors", "visibility", "closed");
	commands_refused(&c, "eve", "submission.feed", json_pack("{s:s}", "leaderboard", "vectors"), KETTLE_ENOENT);
}

/* Of another user's only what counts is told: no note, no device on which it failed or is not the best. */
static void
test_feed_rows(void **state)
{
	(void)state;
	commands_must(&c, "alice", "submit",
		json_pack("{s:o, s:s, s:[s, s], s:s}", "file", commands_file("a.cpp", "int a;\n"), "leaderboard", "vectors",
			"device", "CPU", "H100", "note", "PRIVATE"));
	finish(1, "passed", 1.0);
	finish(2, "failed", 0);
	assert_string_equal(feed("eve", 0, 50), "1 0");
	const json_t *row = commands_at(c.result, "submissions.0");
	assert_true(json_is_null(commands_at(row, "note")));
	assert_string_equal(commands_text(row, "state"), "passed");
	assert_int_equal(json_array_size(commands_at(row, "runs")), 1);
	assert_string_equal(commands_text(row, "runs.0.gpu_type"), "CPU");
	assert_string_equal(feed("alice", 0, 50), "1 0");
	row = commands_at(c.result, "submissions.0");
	assert_string_equal(commands_text(row, "note"), "PRIVATE");
	assert_string_equal(commands_text(row, "state"), "failed");
	assert_int_equal(json_array_size(commands_at(row, "runs")), 2);
	/* Better on one device, worse on the other: of the latter only where the code is shown. */
	commands_must(&c, "alice", "submit",
		json_pack("{s:o, s:s, s:[s, s]}", "file", commands_file("a.cpp", "int b;\n"), "leaderboard", "vectors",
			"device", "CPU", "H100"));
	finish(3, "passed", 2.0);
	finish(4, "passed", 2.0);
	assert_string_equal(feed("eve", 0, 1), "2 2");
	assert_int_equal(json_array_size(commands_at(c.result, "submissions.0.runs")), 1);
	assert_string_equal(commands_text(c.result, "submissions.0.runs.0.gpu_type"), "H100");
	update("vectors", "code_visibility", "always");
	assert_string_equal(feed("eve", 0, 1), "2 2");
	assert_int_equal(json_array_size(commands_at(c.result, "submissions.0.runs")), 2);
}

/* Pages follow each other, whatever comes meanwhile, and none looks at more than so many rows. */
static void
test_feed_pages(void **state)
{
	(void)state;
	char sql[300];
	for (int i = 0; i < 5; i++)
		ranked("owner", "vectors", 5.0 - i);
	assert_string_equal(feed("owner", 0, 2), "5 4 4");
	ranked("owner", "vectors", 9.0);
	assert_string_equal(feed("owner", 4, 2), "3 2 2");
	assert_string_equal(feed("owner", 2, 2), "1 0");
	assert_string_equal(feed("owner", 1, 2), "0");
	assert_string_equal(feed("owner", 0, 6), "6 5 4 3 2 1 1");
	/* Tests of bob, which eve does not see. */
	commands_submit(&c, "bob", "vectors", "test");
	(void)snprintf(sql, sizeof(sql),
		"INSERT INTO submissions (leaderboard, task, user, mode, file_name, code, created_at) WITH RECURSIVE n (i) AS "
		"(SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d) SELECT s.leaderboard, task, user, mode, file_name, "
		"code, "
		"created_at FROM n, submissions s WHERE s.id = 7",
		SUBMISSION_LOOK_MAX + 8);
	fixture_sql(&c.f, sql);
	assert_int_equal(fixture_int(&c.f, "SELECT max(id) FROM submissions"), SUBMISSION_LOOK_MAX + 15);
	assert_string_equal(feed("eve", 0, 50), "16");
	assert_string_equal(feed("eve", 16, 50), "5 0");
}

/* ---- users ---- */

static const json_t *
page(const char *who, const char *name)
{
	return commands_must(&c, who, "user.page", json_pack("{s:s*}", "name", name));
}

static void
test_user_page(void **state)
{
	(void)state;
	ranked("alice", "vectors", 2.0);
	ranked("alice", "vectors", 1.0);
	ranked("alice", "vectors", 1.5);
	ranked("bob", "vectors", 3.0);
	commands_submit(&c, "alice", "vectors", "test");
	commands_board(&c, "secret", NULL);
	ranked("alice", "secret", 4.0);
	update("secret", "visibility", "closed");
	const json_t *shown = page("eve", "ALICE");
	assert_string_equal(commands_text(shown, "user_name"), "alice");
	assert_true(json_is_false(commands_at(shown, "hidden")));
	assert_non_null(commands_text(shown, "since"));
	assert_null(commands_at(shown, "identities"));
	/* One place, and the two runs that made it; nothing of the closed leaderboard. */
	assert_int_equal(json_array_size(commands_at(shown, "ranks")), 1);
	assert_int_equal(commands_number(shown, "ranks.0.rank"), 1);
	assert_int_equal(commands_number(shown, "ranks.0.of"), 2);
	assert_int_equal(commands_number(shown, "ranks.0.submission_id"), 2);
	assert_int_equal(json_array_size(commands_at(shown, "ranks.0.history")), 2);
	assert_int_equal(commands_number(shown, "ranks.0.history.0.submission_id"), 1);
	/* Days count ranked ones alone. */
	assert_int_equal(json_array_size(commands_at(shown, "activity")), 1);
	assert_int_equal(commands_number(shown, "activity.0.submissions"), 3);
	AUTO_FREE char *text = json_dumps(shown, 0);
	assert_null(strstr(text, "secret"));
	/* Medals are for what has ended. */
	assert_int_equal(commands_number(shown, "medals.gold"), 0);
	assert_int_equal(json_array_size(commands_at(page("owner", "alice"), "ranks")), 2);
	assert_int_equal(commands_number(c.result, "activity.0.submissions"), 4);
	fixture_sql(&c.f, "UPDATE boards SET deadline_at = 1");
	assert_int_equal(commands_number(page("eve", "alice"), "medals.gold"), 1);
	assert_int_equal(commands_number(page("eve", "bob"), "medals.silver"), 1);
	assert_int_equal(commands_number(page("owner", "alice"), "medals.gold"), 2);
	/* A user who is banned keeps the page, without what does not count. */
	commands_must(&c, "owner", "user.ban", json_pack("{s:s, s:s}", "name", "alice", "reason", "spam"));
	assert_int_equal(json_array_size(commands_at(page("eve", "alice"), "ranks")), 0);
	assert_int_equal(json_array_size(commands_at(c.result, "activity")), 0);
}

static void
test_user_hidden(void **state)
{
	(void)state;
	static const char *const names[] = {"user_id", "user_name", "hidden"};
	ranked("alice", "vectors", 1.0);
	ranked("bob", "vectors", 2.0);
	assert_string_equal(
		commands_text(commands_must(&c, "alice", "user.update", json_pack("{s:s}", "profile", "hidden")), "profile"),
		"hidden");
	assert_int_equal(fixture_events(&c.f, "user.updated"), 1);
	commands_must(&c, "alice", "user.update", json_pack("{s:s}", "profile", "hidden"));
	assert_int_equal(fixture_events(&c.f, "user.updated"), 1);
	const json_t *shown = page("bob", "alice");
	assert_int_equal(json_object_size(shown), ARRAY_SIZE(names));
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		assert_non_null(commands_at(shown, names[i]));
	assert_true(json_is_true(commands_at(shown, "hidden")));
	/* The user and admins see all of it, and rankings are as before. */
	assert_int_equal(json_array_size(commands_at(page("alice", NULL), "ranks")), 1);
	assert_int_equal(json_array_size(commands_at(page("dave:admin", "alice"), "ranks")), 1);
	assert_string_equal(commands_text(commands_must(&c, "alice", "user.show", json_object()), "profile"), "hidden");
	const json_t *board = commands_must(&c, "bob", "leaderboard.show", json_pack("{s:s}", "name", "vectors"));
	assert_string_equal(commands_text(board, "rankings.0.entries.0.user_name"), "alice");
	/* Whoever gets what a hidden user has is hidden. */
	commands_must(&c, "owner", "user.merge", json_pack("{s:s, s:s}", "name", "alice", "into", "bob"));
	assert_true(json_is_true(commands_at(page("eve", "bob"), "hidden")));
	assert_true(json_is_true(commands_at(page("eve", "alice"), "hidden")));
	commands_must(&c, "bob", "user.update", json_pack("{s:s}", "profile", "public"));
	assert_int_equal(json_array_size(commands_at(page("eve", "bob"), "ranks")), 1);
}

/* Nobody learns from it whose an account of another service is, nor which names there are. */
static void
test_user_identities(void **state)
{
	(void)state;
	ranked("alice", "vectors", 1.0);
	static const char *const refused[] = {"cli:alice", "cli:nobody", "alise", "#99"};
	for (size_t i = 0; i < ARRAY_SIZE(refused); i++)
		commands_refused(&c, "eve", "user.page", json_pack("{s:s}", "name", refused[i]), KETTLE_ENOENT);
	commands_refused(&c, "eve", "user.page", json_object(), KETTLE_ENOENT);
	assert_string_equal(commands_text(page("alice", "cli:alice"), "user_name"), "alice");
	assert_string_equal(commands_text(page("dave:admin", "cli:alice"), "user_name"), "alice");
	char number[20];
	(void)snprintf(number, sizeof(number), "#%s", commands_text(page("eve", "alice"), "user_id"));
	assert_string_equal(commands_text(page("eve", number), "user_name"), "alice");
}

/* ---- lists ---- */

static void
test_short_list(void **state)
{
	(void)state;
	const json_t *boards = commands_must(&c, "eve", "leaderboard.list", json_object());
	assert_string_equal(commands_text(boards, "0.task.lang"), "cpp");
	boards = commands_must(&c, "eve", "leaderboard.list", json_pack("{s:b}", "short", 1));
	assert_int_equal(json_array_size(boards), 1);
	assert_string_equal(commands_text(boards, "0.name"), "vectors");
	assert_null(commands_at(boards, "0.task"));
	boards = commands_must(&c, "eve", "leaderboard.list", json_pack("{s:b, s:s}", "short", 1, "takes", "a.cpp"));
	assert_int_equal(json_array_size(boards), 1);
	boards = commands_must(&c, "eve", "leaderboard.list", json_pack("{s:b, s:s}", "short", 1, "takes", "a.py"));
	assert_int_equal(json_array_size(boards), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
static const struct CMUnitTest tests[] = {
	TEST(test_feed_of_others),
	TEST(test_feed_rows),
	TEST(test_feed_pages),
	TEST(test_user_page),
	TEST(test_user_hidden),
	TEST(test_user_identities),
	TEST(test_short_list),
};

UNIT_TESTS(test_cmd_pages);
