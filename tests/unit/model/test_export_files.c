/* SPDX-License-Identifier: MIT */
/* A leaderboard's submissions handed out: to whom, which, and page by page. */
#include <config.h>

#include "unit/command_fixture.h"

#include "base/cleanup.h"
#include "model/submissions.h"
#include "lib/unit_test.h"

#include <stdlib.h>
#include <string.h>

COMMANDS_FIXTURE(commands_board(&c, "arena", NULL); commands_board(&c, "other", NULL))

static void
set_board(const char *key, const char *value)
{
	commands_must(&c, "owner", "leaderboard.update", json_pack("{s:s, s:s}", "name", "arena", key, value));
}

static const json_t *export(const char *who, bool private, int64_t after)
{
	return commands_must(&c, who, "leaderboard.export",
		json_pack("{s:s, s:b, s:I}", "name", "arena", "private", (int)private, "after", (json_int_t)after));
}

static void
refused(const char *who, bool private, int code)
{
	commands_refused(
		&c, who, "leaderboard.export", json_pack("{s:s, s:b}", "name", "arena", "private", (int)private), code);
}

static int64_t
ranked(const char *who, double score)
{
	int64_t id = commands_submit(&c, who, "arena", "ranked");
	commands_finish(&c, fixture_int(&c.f, "SELECT max(id) FROM jobs"),
		json_pack("{s:s, s:f, s:[]}", "state", "passed", "score", score, "runs"));
	return id;
}

static void
test_rights(void **state)
{
	(void)state;
	ranked("alice", 1.0);
	refused("owner", false, KETTLE_ECONFLICT);
	refused("bob", false, KETTLE_ECONFLICT);
	refused("bob", true, KETTLE_EACCES);
	refused("carol:creator", true, KETTLE_EACCES);
	assert_int_equal(json_array_size(commands_at(export("owner", true, 0), "submissions")), 1);
	assert_int_equal(json_array_size(commands_at(export("dave:admin", true, 0), "submissions")), 1);
	set_board("deadline", "2020-01-01");
	export("owner", false, 0);
	refused("bob", false, KETTLE_EACCES);
	set_board("code", "ended");
	assert_int_equal(json_array_size(commands_at(export("bob", false, 0), "submissions")), 1);
	set_board("deadline", "+1d");
	refused("bob", false, KETTLE_ECONFLICT);
}

static void
test_what_is_in_it(void **state)
{
	(void)state;
	int64_t id = ranked("alice", 0.1), test = commands_submit(&c, "bob", "arena", "test");
	int64_t cheat = ranked("carol", 0.01);
	commands_submit(&c, "alice", "other", "test");
	commands_must(&c, "owner", "submission.flag", json_pack("{s:I, s:s}", "id", (json_int_t)cheat, "reason", "copied"));
	const json_t *page = export("owner", true, 0);
	assert_string_equal(commands_text(page, "leaderboard"), "arena");
	assert_int_equal(commands_number(page, "total"), 3);
	assert_true(json_is_null(commands_at(page, "next")));
	assert_int_equal(json_array_size(commands_at(page, "submissions")), 3);
	const json_t *one = commands_at(page, "submissions.0");
	assert_int_equal(commands_number(one, "id"), id);
	assert_string_equal(commands_text(one, "user_name"), "alice");
	assert_string_equal(commands_text(one, "code"), "int a;\n");
	assert_string_equal(commands_text(one, "devices.0.device"), "CPU");
	/* To the last bit. */
	assert_true(json_real_value(commands_at(one, "devices.0.score")) == 0.1);
	assert_true(json_is_null(commands_at(one, "flagged")));
	assert_true(json_is_true(commands_at(one, "counts")));
	assert_int_equal(strlen(commands_text(one, "sha256")), 64);
	assert_int_equal(commands_number(page, "submissions.1.id"), test);
	assert_string_equal(commands_text(page, "submissions.2.flagged"), "copied");
	AUTO_FREE char *text = json_dumps(page, 0);
	assert_null(strstr(text, "seed"));
	/* Others get what is in the ranking. */
	set_board("code", "always");
	set_board("deadline", "2020-01-01");
	page = export("bob", false, 0);
	assert_int_equal(json_array_size(commands_at(page, "submissions")), 1);
	assert_int_equal(commands_number(page, "submissions.0.id"), id);
}

/* Copies of the first submission; its code has so many bytes. */
static void
fill(int64_t count, int64_t bytes)
{
	char sql[700];
	(void)snprintf(sql, sizeof(sql),
		"WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %lld) INSERT INTO submissions "
		"(leaderboard, task, user, mode, file_name, code, state, created_at, done_at) SELECT leaderboard, task, user, "
		"mode, file_name, code, 'passed', created_at, created_at FROM submissions, n WHERE id = 1;"
		"UPDATE blobs SET size = %lld, data = CAST(printf('%%.*c', %lld, 'x') AS BLOB) WHERE id = (SELECT code FROM "
		"submissions WHERE id = 1)",
		(long long)count, (long long)bytes, (long long)bytes);
	fixture_sql(&c.f, sql);
}

static size_t
walk(size_t *ret_pages)
{
	size_t all = 0, pages = 0;
	int64_t after = 0, last = 0;
	do {
		const json_t *page = export("owner", true, after);
		size_t count = json_array_size(commands_at(page, "submissions")), i;
		json_t *one;
		json_array_foreach(json_object_get(page, "submissions"), i, one) {
			assert_true(commands_number(one, "id") > last);
			last = commands_number(one, "id");
		}
		assert_true((after == 0) == json_is_integer(json_object_get(page, "total")));
		all += count;
		after = json_integer_value(json_object_get(page, "next"));
		pages++;
	} while (after);
	*ret_pages = pages;
	return all;
}

static void
test_pages(void **state)
{
	(void)state;
	size_t pages = 0;
	commands_submit(&c, "alice", "arena", "test");
	fill(SUBMISSION_PAGE + 9, 100);
	assert_int_equal(walk(&pages), SUBMISSION_PAGE + 10);
	assert_int_equal(pages, 2);
	/* However much code there is, a page of it is bounded. */
	fill(1, 1000000);
	assert_int_equal(walk(&pages), SUBMISSION_PAGE + 11);
	assert_int_equal(pages, (SUBMISSION_PAGE + 11 + 4) / 5);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
static const struct CMUnitTest tests[] = {
	TEST(test_rights),
	TEST(test_what_is_in_it),
	TEST(test_pages),
};

UNIT_TESTS(test_export_files);
