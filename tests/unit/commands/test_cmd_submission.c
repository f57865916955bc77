/* SPDX-License-Identifier: MIT */
/* Lists of submissions, and what deletes all of one's own. */
#include <config.h>

#include "unit/command_fixture.h"

#include "base/cleanup.h"
#include "base/json_access.h"
#include "lib/unit_test.h"

#include <stdio.h>

static struct commands_fixture c;

static int
setup(void **state)
{
	(void)state;
	commands_open(&c);
	commands_board(&c, "arena", NULL);
	commands_board(&c, "other", NULL);
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	commands_close(&c);
	return 0;
}

/* A ranked submission that passed with this score. */
static int64_t
ranked(const char *who, const char *board, double score)
{
	int64_t id = commands_submit(&c, who, board, "ranked");
	commands_finish(
		&c, fixture_int(&c.f, "SELECT max(id) FROM jobs"), json_pack("{s:s, s:f}", "state", "passed", "score", score));
	return id;
}

/* ---- lists ---- */

static size_t
listed(const char *who, json_t *args)
{
	return json_array_size(commands_must(&c, who, "submission.list", args));
}

/* A page has only the submissions in the state, below the number. */
static void
test_list_by_state(void **state)
{
	(void)state;
	int64_t first = ranked("alice", "arena", 1), second = ranked("alice", "arena", 2),
			open = commands_submit(&c, "alice", "other", "test");
	assert_int_equal(listed("alice", json_pack("{s:s}", "state", "passed")), 2);
	assert_int_equal(listed("alice", json_pack("{s:s}", "state", "failed")), 0);
	assert_int_equal(listed("alice", json_pack("{s:s, s:s}", "state", "queued", "leaderboard", "arena")), 0);
	assert_int_equal(listed("alice", json_pack("{s:s, s:s}", "state", "queued", "leaderboard", "other")), 1);
	assert_int_equal(commands_number(c.result, "0.id"), open);
	assert_int_equal(listed("alice", json_pack("{s:I}", "before", (json_int_t)open)), 2);
	assert_int_equal(commands_number(c.result, "0.id"), second);
	assert_int_equal(
		listed("alice", json_pack("{s:s, s:I, s:i}", "state", "passed", "before", (json_int_t)second, "limit", 1)), 1);
	assert_int_equal(commands_number(c.result, "0.id"), first);
	assert_int_equal(listed("alice", json_pack("{s:s, s:I}", "state", "passed", "before", (json_int_t)first)), 0);
	assert_int_equal(commands_run(&c, "alice", "submission.list", json_pack("{s:s}", "state", "lost")), KETTLE_EINVAL);
}

/* Those of all users: only with the right, and in the order of their numbers, too. */
static void
test_list_all_by_state(void **state)
{
	(void)state;
	int64_t first = ranked("alice", "arena", 1), second = ranked("bob", "arena", 2);
	commands_submit(&c, "bob", "arena", "test");
	AUTO_JSON json_t *all = json_pack("{s:s, s:b, s:s}", "leaderboard", "arena", "all", 1, "state", "passed");
	assert_int_equal(commands_run(&c, "bob", "submission.list", json_incref(all)), KETTLE_EACCES);
	assert_int_equal(listed("owner", json_incref(all)), 2);
	assert_int_equal(commands_number(c.result, "0.id"), second);
	json_object_set_new(all, "before", json_integer(second));
	assert_int_equal(listed("owner", json_incref(all)), 1);
	assert_int_equal(commands_number(c.result, "0.id"), first);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
static const struct CMUnitTest tests[] = {
	TEST(test_list_by_state),
	TEST(test_list_all_by_state),
};

UNIT_TESTS(test_cmd_submission);
