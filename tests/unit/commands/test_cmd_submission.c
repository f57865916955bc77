/* SPDX-License-Identifier: MIT */
/* Lists of submissions, and what deletes all of one's own. */
#include <config.h>

#include "unit/command_fixture.h"

#include "base/cleanup.h"
#include "base/json_access.h"
#include "lib/unit_test.h"
#include "model/submissions.h"

#include <stdio.h>

static struct commands_fixture c;

static int
setup(void **state)
{
	(void)state;
	commands_open(&c);
	c.env.spool = c.f.dir;
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

/* ---- all of one's own ---- */

static int64_t
count_of(const char *who, const char *board)
{
	char sql[200];
	(void)snprintf(sql, sizeof(sql),
		"SELECT count(*) FROM submissions s JOIN users u ON u.id = s.user JOIN boards b ON b.id = s.leaderboard WHERE "
		"u.name = '%s' AND b.name = '%s'",
		who, board);
	return fixture_int(&c.f, sql);
}

/* On one leaderboard or on all; those of others and what is marked as a cheat stay. */
static void
test_delete_own(void **state)
{
	(void)state;
	ranked("alice", "arena", 1);
	ranked("alice", "other", 2);
	int64_t flagged = ranked("alice", "arena", 3);
	ranked("bob", "arena", 4);
	commands_submit(&c, "alice", "arena", "test");
	commands_must(
		&c, "owner", "submission.flag", json_pack("{s:I, s:s}", "id", (json_int_t)flagged, "reason", "copied"));
	commands_must(&c, "alice", "submission.delete_own", json_pack("{s:s}", "leaderboard", "ARENA"));
	assert_string_equal(commands_text(c.result, "leaderboard"), "arena");
	assert_int_equal(commands_number(c.result, "submissions"), 2);
	assert_int_equal(commands_number(c.result, "kept"), 1);
	assert_int_equal(count_of("alice", "arena"), 1);
	assert_int_equal(count_of("alice", "other"), 1);
	assert_int_equal(fixture_events(&c.f, "submission.deleted"), 2);
	assert_int_equal(fixture_int(&c.f, "SELECT count(*) FROM best WHERE user_name = 'alice'"), 1);
	commands_must(&c, "alice", "submission.delete_own", json_object());
	assert_true(json_is_null(commands_at(c.result, "leaderboard")));
	assert_int_equal(commands_number(c.result, "submissions"), 1);
	assert_int_equal(count_of("alice", "other"), 0);
	assert_int_equal(count_of("bob", "arena"), 1);
	/* An admin's own have the same rule, and others have nothing to delete. */
	commands_must(&c, "stranger", "submission.delete_own", json_object());
	assert_int_equal(commands_number(c.result, "submissions"), 0);
	assert_int_equal(commands_run(&c, "alice", "submission.delete_own", json_pack("{s:s}", "leaderboard", "nowhere")),
		KETTLE_ENOENT);
}

/* No transaction deletes more than a part, on however many leaderboards they are. */
static void
test_delete_own_parts(void **state)
{
	(void)state;
	commands_submit(&c, "alice", "other", "test");
	commands_submit(&c, "alice", "arena", "test");
	fixture_sql(&c.f, "INSERT INTO submissions (leaderboard, task, user, mode, file_name, code, created_at) SELECT "
					  "leaderboard, task, "
					  "user, mode, file_name, code, created_at FROM submissions, (WITH RECURSIVE n (i) AS (SELECT 1 "
					  "UNION ALL SELECT i "
					  "+ 1 FROM n WHERE i < 65) SELECT i FROM n)");
	commands_must(&c, "alice", "submission.delete_own", json_object());
	assert_int_equal(commands_number(c.result, "submissions"), 132);
	assert_int_equal(c.parts, 4);
	assert_int_equal(fixture_int(&c.f, "SELECT count(*) FROM submissions"), 0);
}

/* However many parts it takes, the places in the ranking change once. */
static void
test_delete_own_ranked(void **state)
{
	(void)state;
	int64_t best = 0;
	ranked("alice", "arena", 1);
	for (int i = 0; i < OWN_DELETED_PART; i++)
		best = ranked("alice", "arena", 1 - i * 0.001);
	assert_int_equal(fixture_int(&c.f, "SELECT submission FROM best"), best);
	size_t before = fixture_events(&c.f, "leaderboard.podium");
	commands_must(&c, "alice", "submission.delete_own", json_pack("{s:s}", "leaderboard", "arena"));
	assert_int_equal(c.parts, 2);
	assert_int_equal(fixture_int(&c.f, "SELECT count(*) FROM best"), 0);
	assert_int_equal(fixture_events(&c.f, "leaderboard.podium"), before + 1);
}

/* ---- how often a user has tried ---- */

/* The tries of a user's entry on the first device of `arena`. */
static int64_t
tries(const char *who)
{
	const json_t *board = commands_must(&c, "stranger", "leaderboard.show", json_pack("{s:s}", "name", "arena"));
	json_array_each(commands_at(board, "rankings.0.entries"), entry)
		if (member_is(entry, "user_name", who))
			return commands_number(entry, "tries");
	fail_msg("%s is not ranked", who);
	return -1;
}

static void
fail_ranked(const char *who)
{
	commands_submit(&c, who, "arena", "ranked");
	commands_finish(&c, fixture_int(&c.f, "SELECT max(id) FROM jobs"), json_pack("{s:s}", "state", "failed"));
}

/* Each ranked submission to the board that has ended is one, whatever became of it, also before the first that counts. */
static void
test_tries(void **state)
{
	(void)state;
	fail_ranked("alice");
	int64_t first = ranked("alice", "arena", 2);
	ranked("bob", "arena", 3);
	assert_int_equal(tries("alice"), 2);
	fail_ranked("alice");
	commands_submit(&c, "alice", "arena", "test");
	ranked("alice", "other", 1);
	commands_submit(&c, "bob", "arena", "ranked");
	assert_int_equal(tries("alice"), 3);
	ranked("alice", "arena", 1);
	assert_int_equal(tries("alice"), 4);
	assert_int_equal(tries("bob"), 1);
	/* A rerun is no further one. */
	commands_must(&c, "owner", "submission.rerun", json_pack("{s:I}", "id", (json_int_t)first));
	assert_int_equal(tries("alice"), 4);
	commands_finish(
		&c, fixture_int(&c.f, "SELECT max(id) FROM jobs"), json_pack("{s:s, s:f}", "state", "passed", "score", 1.5));
	assert_int_equal(tries("alice"), 4);
	commands_must(&c, "alice", "submission.delete", json_pack("{s:I}", "id", (json_int_t)first));
	assert_int_equal(tries("alice"), 3);
	/* One's own runs, and practice, have none. */
	const json_t *mine =
		commands_must(&c, "alice", "leaderboard.show", json_pack("{s:s, s:b}", "name", "arena", "mine", 1));
	assert_null(commands_at(mine, "rankings.0.entries.0.tries"));
	commands_must(&c, "owner:admin", "user.merge", json_pack("{s:s, s:s}", "name", "bob", "into", "alice"));
	assert_int_equal(tries("alice"), 4);
	assert_true(json_is_true(commands_at(commands_must(&c, "owner:admin", "admin.verify", json_object()), "ok")));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
static const struct CMUnitTest tests[] = {
	TEST(test_list_by_state),
	TEST(test_list_all_by_state),
	TEST(test_delete_own),
	TEST(test_delete_own_parts),
	TEST(test_delete_own_ranked),
	TEST(test_tries),
};

UNIT_TESTS(test_cmd_submission);
