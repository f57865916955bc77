/* SPDX-License-Identifier: MIT */
/* All leaderboards at a glance, and where a user is in a ranking. */
#include <config.h>

#include "unit/command_fixture.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/json_access.h"
#include "lib/unit_test.h"
#include "model/board.h"

#include <stdio.h>
#include <string.h>

#define HOUR_MS (60 * 60 * 1000)

COMMANDS_FIXTURE(commands_board(&c, "vectors", json_pack("[s, s]", "CPU", "H100")))

/* A ranked submission on both devices, so many hours ago, that passes with these scores; 0: it fails there. */
static int64_t
ranked(const char *who, double cpu, double h100, int hours)
{
	char sql[200];
	commands_must(&c, who, "submit",
		json_pack("{s:o, s:s, s:s, s:[s, s]}", "file", commands_file("a.cpp", "int a;\n"), "leaderboard", "vectors",
			"mode", "ranked", "device", "CPU", "H100"));
	int64_t id = commands_number(c.result, "id"), job = fixture_int(&c.f, "SELECT max(id) FROM jobs");
	(void)snprintf(sql, sizeof(sql), "UPDATE submissions SET created_at = created_at - %lld WHERE id = %lld",
		(long long)hours * HOUR_MS, (long long)id);
	fixture_sql(&c.f, sql);
	for (int i = 0; i < 2; i++) {
		double score = i == 0 ? cpu : h100;
		commands_finish(
			&c, job - 1 + i, json_pack("{s:s, s:f}", "state", score > 0 ? "passed" : "failed", "score", score));
	}
	return id;
}

/* A leaderboard of the answer. */
static const json_t *
overview(const char *who, const char *board)
{
	const json_t *boards = commands_must(&c, who, "leaderboard.overview", json_object());
	json_array_each(boards, one)
		if (member_is(one, "name", board))
			return one;
	return NULL;
}

static void
update(const char *board, const char *key, const char *value)
{
	commands_must(&c, "owner", "leaderboard.update", json_pack("{s:s, s:s}", "name", board, key, value));
}

static void
test_leaders(void **state)
{
	(void)state;
	const json_t *board = overview("eve", "vectors");
	assert_int_equal(commands_number(board, "people"), 0);
	assert_int_equal(json_array_size(commands_at(board, "devices.0.first")), 0);
	assert_true(json_is_true(commands_at(board, "opened")) && json_is_false(commands_at(board, "ended")));
	ranked("alice", 3.0, 0, 0);
	ranked("bob", 1.0, 5.0, 0);
	ranked("carol", 2.0, 0, 0);
	ranked("dave", 1.0, 0, 0);
	board = overview("eve", "vectors");
	/* Who is ranked on both devices is one. */
	assert_int_equal(commands_number(board, "people"), 4);
	assert_int_equal(commands_number(board, "devices.0.ranked"), 4);
	assert_int_equal(commands_number(board, "devices.1.ranked"), 1);
	assert_int_equal(json_array_size(commands_at(board, "devices.0.first")), 3);
	assert_string_equal(commands_text(board, "devices.0.first.0.user_name"), "bob");
	assert_string_equal(commands_text(board, "devices.0.first.1.user_name"), "dave");
	assert_int_equal(commands_number(board, "devices.0.first.1.rank"), 1);
	assert_int_equal(commands_number(board, "devices.0.first.2.rank"), 3);
	assert_int_equal(commands_number(board, "devices.0.first.2.submission_id"), 3);
	assert_true(json_is_false(commands_at(board, "submitted")));
	assert_true(json_is_null(commands_at(board, "devices.0.own")));
	/* One device: the number that is kept. */
	commands_board(&c, "single", json_pack("[s]", "CPU"));
	commands_submit(&c, "alice", "single", "ranked");
	commands_finish(
		&c, fixture_int(&c.f, "SELECT max(id) FROM jobs"), json_pack("{s:s, s:f}", "state", "passed", "score", 1.0));
	assert_int_equal(commands_number(overview("eve", "single"), "people"), 1);
}

/* The best score a day ago is that of what was submitted by then, also of users who have a better one now. */
static void
test_day(void **state)
{
	(void)state;
	assert_true(json_is_null(commands_at(overview("eve", "vectors"), "devices.0.day_ago")));
	ranked("bob", 9.0, 0, 40);
	assert_float_equal(json_number_value(commands_at(overview("eve", "vectors"), "devices.0.day_ago")), 9.0, 1e-9);
	ranked("alice", 8.0, 0, 30);
	ranked("alice", 7.0, 0, 26);
	ranked("bob", 10.0, 0, 25);
	ranked("alice", 6.0, 0, 2);
	assert_float_equal(json_number_value(commands_at(overview("eve", "vectors"), "devices.0.day_ago")), 7.0, 1e-9);
	assert_true(json_is_null(commands_at(overview("eve", "vectors"), "devices.1.day_ago")));
	/* What does not count is not told. */
	commands_must(&c, "owner", "submission.flag", json_pack("{s:i, s:s}", "id", 3, "reason", "copied"));
	assert_float_equal(json_number_value(commands_at(overview("eve", "vectors"), "devices.0.day_ago")), 8.0, 1e-9);
	ranked("carol", 1.0, 0, 25);
	assert_float_equal(json_number_value(commands_at(overview("eve", "vectors"), "devices.0.day_ago")), 1.0, 1e-9);
	fixture_sql(&c.f, "UPDATE boards SET deadline_at = 1");
	const json_t *board = overview("eve", "vectors");
	assert_true(json_is_true(commands_at(board, "ended")) && json_is_null(commands_at(board, "devices.0.day_ago")));
	assert_int_equal(json_array_size(commands_at(board, "devices.0.first")), 3);
}

static void
test_own(void **state)
{
	(void)state;
	commands_submit(&c, "eve", "vectors", "test");
	ranked("carol", 1.0, 0, 0);
	ranked("alice", 4.0, 0, 0);
	const json_t *board = overview("alice", "vectors");
	assert_int_equal(commands_number(board, "devices.0.own.rank"), 2);
	assert_true(json_is_null(commands_at(board, "devices.0.own.overtaken_by")));
	assert_true(json_is_null(commands_at(board, "devices.1.own")));
	ranked("bob", 3.0, 0, 0);
	ranked("dave", 2.0, 0, 0);
	board = overview("alice", "vectors");
	assert_int_equal(commands_number(board, "devices.0.own.rank"), 4);
	assert_string_equal(commands_text(board, "devices.0.own.overtaken_by.user_name"), "bob");
	/* Better again, but still behind one who came later. */
	ranked("alice", 2.5, 0, 0);
	ranked("bob", 2.5, 0, 0);
	board = overview("alice", "vectors");
	assert_int_equal(commands_number(board, "devices.0.own.rank"), 3);
	assert_true(json_is_null(commands_at(board, "devices.0.own.overtaken_by")));
	board = overview("eve", "vectors");
	assert_true(json_is_true(commands_at(board, "submitted")) && json_is_null(commands_at(board, "devices.0.own")));
}

/* Leaderboards that a user may not see are not there. */
static void
test_visible(void **state)
{
	(void)state;
	commands_board(&c, "secret", NULL);
	update("secret", "visibility", "closed");
	commands_board(&c, "later", NULL);
	update("later", "opens", "+2d");
	assert_null(overview("eve", "secret"));
	assert_null(overview("eve", "later"));
	assert_int_equal(json_array_size(c.result), 1);
	assert_string_equal(commands_text(overview("owner", "secret"), "visibility"), "closed");
	assert_true(json_is_false(commands_at(overview("dave:admin", "later"), "opened")));
	char longer[BOARD_ABOUT_MAX + 11];
	(void)memset(longer, 'x', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	update("vectors", "description", longer);
	assert_int_equal(strlen(commands_text(overview("eve", "vectors"), "description")), BOARD_ABOUT_MAX);
}

static const json_t *
find(const char *who, const char *name)
{
	return commands_must(
		&c, who, "leaderboard.show", json_pack("{s:s, s:i, s:s}", "name", "vectors", "limit", 1, "find", name));
}

static void
test_find(void **state)
{
	(void)state;
	ranked("alice", 2.0, 0, 0);
	ranked("bob", 1.0, 3.0, 0);
	ranked("carol", 2.0, 0, 0);
	commands_submit(&c, "eve", "vectors", "test");
	const json_t *shown = find("eve", "CAROL");
	assert_int_equal(json_array_size(commands_at(shown, "rankings.0.entries")), 1);
	assert_int_equal(commands_number(shown, "rankings.0.found.offset"), 2);
	assert_int_equal(commands_number(shown, "rankings.0.found.entry.rank"), 2);
	assert_string_equal(commands_text(shown, "rankings.0.found.entry.user_name"), "carol");
	assert_true(json_is_null(commands_at(shown, "rankings.1.found")));
	shown = find("eve", "bob");
	assert_int_equal(commands_number(shown, "rankings.0.found.offset"), 0);
	assert_int_equal(commands_number(shown, "rankings.1.found.offset"), 0);
	assert_true(json_is_null(commands_at(find("owner", "cli:eve"), "rankings.0.found")));
	assert_int_equal(commands_number(find("bob", "cli:bob"), "rankings.0.found.offset"), 0);
	/* Whose an identity is, others do not learn. */
	static const char *const none[] = {"nobody", "cli:bob", "#999"};
	for (size_t i = 0; i < ARRAY_SIZE(none); i++)
		assert_int_equal(
			commands_run(&c, "eve", "leaderboard.show", json_pack("{s:s, s:s}", "name", "vectors", "find", none[i])),
			KETTLE_ENOENT);
	/* The answer that is kept has none of it. */
	shown = commands_must(&c, "eve", "leaderboard.show", json_pack("{s:s, s:i}", "name", "vectors", "limit", 1));
	assert_null(commands_at(shown, "rankings.0.found"));
	assert_int_equal(
		commands_run(&c, "eve", "leaderboard.show", json_pack("{s:s, s:s}", "name", "vectors", "find", "x:")),
		KETTLE_EINVAL);
}

/* ---- the first places over time ---- */

static const json_t *
podiums(const char *who, json_int_t before, const char *device)
{
	json_t *args = json_pack("{s:s, s:s*}", "name", "vectors", "device", device);
	if (before)
		json_object_set_new(args, "before", json_integer(before));
	return commands_must(&c, who, "leaderboard.podiums", args);
}

/* The moves of a change as "alice -1 bob 12 carol 3-": name, rank before and after. New string. */
static char *
moves(const json_t *changes, size_t index)
{
	AUTO_BUF struct buf text = {0};
	json_array_each(json_object_get(json_array_get(changes, index), "moved"), one) {
		buf_printf(&text, "%s%s ", text.len ? " " : "", json_text_or_empty(one, "user_name"));
		for (int i = 0; i < 2; i++) {
			const json_t *rank = json_object_get(one, i == 0 ? "before" : "after");
			buf_printf(&text, json_is_null(rank) ? "-" : "%d", (int)json_integer_value(rank));
		}
	}
	return buf_take(&text);
}

static void
assert_moves(const json_t *changes, size_t index, const char *expected)
{
	AUTO_FREE char *text = moves(changes, index);
	assert_string_equal(text, expected);
}

static void
test_podiums(void **state)
{
	(void)state;
	ranked("alice", 4, 0, 0);
	ranked("bob", 3, 9, 0);
	ranked("carol", 2, 0, 0);
	ranked("dave", 5, 0, 0);
	int64_t best = ranked("dave", 1, 0, 0);
	const json_t *changes = commands_at(podiums("eve", 0, "cpu"), "changes");
	assert_int_equal(json_array_size(changes), 4);
	assert_moves(changes, 0, "dave 41 carol 12 bob 23 alice 3-");
	assert_moves(changes, 1, "carol -1 bob 12 alice 23");
	assert_moves(changes, 2, "bob -1 alice 12");
	assert_moves(changes, 3, "alice -1");
	assert_string_equal(commands_text(changes, "0.device"), "CPU");
	assert_int_equal(json_array_size(commands_at(podiums("eve", 0, NULL), "changes")), 5);
	/* Where one leaves, the next moves up from the fourth place. */
	commands_must(&c, "dave", "submission.delete", json_pack("{s:I}", "id", (json_int_t)best));
	changes = commands_at(podiums("eve", 0, "CPU"), "changes");
	assert_moves(changes, 0, "carol 21 bob 32 alice 43 dave 1-");
	/* The names are today's, and banned users have none. */
	fixture_sql(&c.f,
		"UPDATE users SET name = 'karol' WHERE name = 'carol'; UPDATE users SET banned_at = 1 WHERE name = 'bob'");
	assert_moves(commands_at(podiums("eve", 0, "CPU"), "changes"), 0, "karol 21 alice 43 dave 1-");
}

/* Page by page, and for those who may see the board. */
static void
test_podiums_pages(void **state)
{
	(void)state;
	for (int i = 0; i < 3; i++)
		ranked(i % 2 ? "bob" : "alice", 4 - i, 0, 0);
	const json_t *page =
		commands_must(&c, "eve", "leaderboard.podiums", json_pack("{s:s, s:i}", "name", "vectors", "limit", 2));
	assert_int_equal(json_array_size(commands_at(page, "changes")), 2);
	page = podiums("eve", commands_number(page, "next"), NULL);
	assert_moves(commands_at(page, "changes"), 0, "alice -1");
	assert_true(json_is_null(commands_at(page, "next")));
	update("vectors", "visibility", "closed");
	assert_int_equal(
		commands_run(&c, "eve", "leaderboard.podiums", json_pack("{s:s}", "name", "vectors")), KETTLE_ENOENT);
	podiums("owner", 0, NULL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
static const struct CMUnitTest tests[] = {
	TEST(test_leaders),
	TEST(test_day),
	TEST(test_own),
	TEST(test_visible),
	TEST(test_find),
	TEST(test_podiums),
	TEST(test_podiums_pages),
};

UNIT_TESTS(test_cmd_overview);
