/* SPDX-License-Identifier: MIT */
/* admin.verify: a database in order, and each thing that it must notice. */
#include <config.h>

#include "unit/command_fixture.h"

#include "base/cleanup.h"
#include "base/file.h"
#include "base/xalloc.h"
#include "lib/unit_test.h"

#include <string.h>

COMMANDS_FIXTURE_SET_UP_BY_FILE

/* A ranked submission that passed. */
static int64_t
ranked(const char *who, double score)
{
	AUTO_FREE char *sql = xasprintf(
		"SELECT id FROM jobs WHERE submission = %lld", (long long)commands_submit(&c, who, "arena", "ranked"));
	int64_t job = fixture_int(&c.f, sql);
	commands_finish(&c, job, json_pack("{s:s, s:f, s:[]}", "state", "passed", "score", score, "runs"));
	return job;
}

static int
setup(void **state)
{
	(void)state;
	commands_open(&c);
	c.env.spool = c.f.dir;
	commands_board(&c, "arena", NULL);
	(void)ranked("alice", 2);
	(void)ranked("alice", 1);
	(void)ranked("bob", 3);
	(void)commands_submit(&c, "bob", "arena", "test");
	return 0;
}

/* On a connection of its own, which checks nothing. */
static void
damage(const char *sql)
{
	sqlite3 *handle = NULL;
	char *why = NULL;
	assert_int_equal(sqlite3_open(c.f.path, &handle), SQLITE_OK);
	(void)sqlite3_busy_timeout(handle, 10000);
	if (sqlite3_exec(handle, sql, NULL, NULL, &why) != SQLITE_OK)
		fail_msg("%s", why);
	assert_int_equal(sqlite3_close(handle), SQLITE_OK);
}

/* The violations of a check, in one text. New string. */
static char *
found(const char *name)
{
	const json_t *result = commands_must(&c, "owner", "admin.verify", json_object());
	size_t i;
	json_t *check;
	json_array_foreach(json_object_get(result, "checks"), i, check)
		if (strcmp(commands_text(check, "name"), name) == 0)
			return json_dumps(json_object_get(check, "violations"), 0);
	fail_msg("there is no check %s", name);
	return NULL;
}

static void
test_good(void **state)
{
	(void)state;
	const json_t *result = commands_must(&c, "owner", "admin.verify", json_object());
	AUTO_FREE char *text = json_dumps(result, 0);
	if (!json_is_true(commands_at(result, "ok")))
		fail_msg("%s", text);
	assert_int_equal(json_array_size(commands_at(result, "checks")), 9);
	commands_refused(&c, "alice", "admin.verify", json_object(), KETTLE_EACCES);
}

/* What is changed behind Kettle's back, and what it says of that. */
static void
test_damage(void **state)
{
	static const struct {
		const char *check, *sql, *says;
	} tries[] = {
		{"database", "PRAGMA ignore_check_constraints = 1; UPDATE jobs SET uncharged_attempts = 9 WHERE id = 1",
			"CHECK constraint"},
		{"references",
			"INSERT INTO identities (provider, subject, user, name, created_at) VALUES ('x', 'y', 999, 'z', 0)",
			"A row of identities (without a number) refers to a row of users that does not exist."},
		{"rankings", "UPDATE best SET submission = 1, job = 1, score = 2 WHERE user_name = 'alice'",
			"arena on CPU: alice is ranked with submission 1 and 2 s, but the best run is that of submission 2 with 1 "
			"s."},
		{"rankings", "UPDATE best SET user_name = 'eve' WHERE user_name = 'bob'", "bob is ranked with"},
		{"rankings", "DELETE FROM best WHERE user_name = 'bob'", "bob is not ranked, but submission 3 counts."},
		{"rankings", "UPDATE submissions SET flagged_at = 1 WHERE id = 3",
			"bob is ranked with submission 3, but has no run"},
		{"rankings", "UPDATE best SET bucket = 7 WHERE user_name = 'bob'", "the score of bob is in bucket 7"},
		{"counts", "UPDATE best_counts SET entries = 8 WHERE level = 2", "of level 2 counts 8 entries, but there are "},
		{"counts", "DELETE FROM best_counts WHERE level = 0", "of level 0 counts 0 entries, but there are 1."},
		{"ranked", "UPDATE leaderboard_devices SET ranked = 5",
			"arena on CPU: 5 users are counted as ranked, but there are 2."},
		{"tries", "UPDATE best SET tries = 7 WHERE user_name = 'alice'",
			"arena on CPU: 7 ranked submissions of alice are counted, but there are 2."},
		{"submissions", "UPDATE submissions SET state = 'failed' WHERE id = 1",
			"Submission 1 is failed, but its jobs are passed."},
		{"submissions", "UPDATE jobs SET state = 'passed', done_at = 1 WHERE submission = 4",
			"Submission 4 is queued, but all its jobs have ended."},
		{"submissions", "UPDATE jobs SET state = 'queued', done_at = NULL WHERE submission = 3",
			"Submission 3 is passed, but a job of it has not ended."},
		{"submissions", "DELETE FROM jobs WHERE submission = 4", "Submission 4 is queued, but has no job."},
		{"versions", "DELETE FROM board_versions", "Leaderboard arena has no version"},
	};
	(void)state;
	for (size_t i = 0; i < sizeof(tries) / sizeof(tries[0]); i++) {
		if (i > 0) {
			commands_close(&c);
			(void)setup(state);
		}
		damage(tries[i].sql);
		AUTO_FREE char *text = found(tries[i].check);
		if (!strstr(text, tries[i].says))
			fail_msg("%s: %s lacks \"%s\"", tries[i].sql, text, tries[i].says);
		assert_true(json_is_false(commands_at(c.result, "ok")));
	}
}

/* Files in the spool: those that are there, gone, too short, no longer kept; not all are listed. */
static void
test_files(void **state)
{
	(void)state;
	AUTO_FREE char *path = xasprintf("%s/there", c.f.dir);
	assert_int_equal(file_write(path, "abc", 3, 0600, NULL), 0);
	fixture_sql(&c.f,
		"INSERT INTO artifacts (job, name, size, sha256, path, created_at, expired_at) VALUES (1, 'a', 3, 's', "
		"'there', 0, "
		"NULL), (1, 'b', 4, 's', 'there', 0, NULL), (1, 'c', 3, 's', 'gone', 0, NULL), (1, 'd', 3, 's', 'gone', 0, 1)");
	AUTO_FREE char *text = found("files");
	assert_string_equal(text, "[\"The file b of job 1 is missing from the spool, or has another size than 4 bytes.\", "
							  "\"The file c of job 1 is missing from the spool, or has another size than 3 bytes.\"]");
	assert_true(json_is_false(commands_at(c.result, "checks.0.more")));
	fixture_sql(&c.f, "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 30) INSERT INTO "
					  "artifacts (job, name, size, sha256, path, created_at) SELECT 1, 'x', 1, 's', 'gone', 0 FROM n");
	free(STEAL(text));
	text = found("files");
	assert_int_equal(json_array_size(commands_at(c.result, "checks.0.violations")), 20);
	assert_true(json_is_true(commands_at(c.result, "checks.0.more")));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
static const struct CMUnitTest tests[] = {TEST(test_good), TEST(test_damage), TEST(test_files)};

UNIT_TESTS(test_cmd_verify);
