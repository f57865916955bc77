/* SPDX-License-Identifier: MIT */
/* Two submissions side by side: who may compare, which cases are compared, what is significant. */
#include <config.h>

#include "unit/command_fixture.h"

#include "base/cleanup.h"
#include "base/json_access.h"
#include "lib/unit_test.h"

#include <string.h>

COMMANDS_FIXTURE(commands_board(&c, "arena", json_pack("[s, s]", "CPU", "H100"));
				 commands_board(&c, "other", json_pack("[s]", "CPU")))

/* A ranked submission of `code` that passed. */
static int64_t
ranked(const char *who, const char *board, const char *code, double score)
{
	const json_t *result = commands_must(&c, who, "submit",
		json_pack("{s:o, s:s, s:s, s:s}", "file", commands_file("a.cpp", code), "leaderboard", board, "mode", "ranked",
			"device", "CPU"));
	int64_t id = commands_number(result, "id");
	commands_finish(&c, fixture_int(&c.f, "SELECT max(id) FROM jobs"),
		json_pack("{s:s, s:f, s:[]}", "state", "passed", "score", score, "runs"));
	return id;
}

/* A run of the last job, with a result as it is stored. */
static void
add_run(const char *mode, int secret, const char *result)
{
	char sql[2000];
	(void)snprintf(sql, sizeof(sql),
		"INSERT INTO runs (job, mode, secret, passed, state, result_json) SELECT max(id), '%s', %d, 1, 'passed', "
		"%s%s%s "
		"FROM jobs",
		mode, secret, secret ? "NULL" : "'", secret ? "" : result, secret ? "" : "'");
	fixture_sql(&c.f, sql);
}

static json_t *
ids(int64_t a, int64_t b)
{
	return json_pack("{s:I, s:I}", "a", (json_int_t)a, "b", (json_int_t)b);
}

static const json_t *
member(const json_t *answer, const char *path, const char *name)
{
	return json_object_get(commands_at(answer, path), name);
}

static void
test_cases(void **state)
{
	(void)state;
	int64_t a = ranked("alice", "arena", "int a;\nint b;\n", 2.0);
	add_run("benchmark", 0, "{\"benchmark.0.spec\": \"other run\", \"benchmark.0.mean\": \"1\"}");
	add_run("leaderboard", 0,
		"{\"benchmark.0.spec\": \"n: 1\", \"benchmark.0.mean\": \"2000000000\", \"benchmark.0.err\": \"10000000\","
		"\"benchmark.1.spec\": \"n: 2\", \"benchmark.1.mean\": \"1000000000\", \"benchmark.1.err\": \"10000000\","
		"\"benchmark.2.spec\": \"n: 3\", \"benchmark.2.mean\": \"1000000000\", \"benchmark.2.calibrator\": \"cpu-c-1\","
		"\"benchmark.2.low\": \"900000000\", \"benchmark.2.high\": \"1100000000\"}");
	add_run("leaderboard", 1, "");
	int64_t b = ranked("alice", "arena", "int a;\nint c;\n", 1.0);
	add_run("leaderboard", 0,
		"{\"benchmark.0.spec\": \"n: 2\", \"benchmark.0.mean\": \"1020000000\", \"benchmark.0.err\": \"10000000\","
		"\"benchmark.1.spec\": \"n: 1\", \"benchmark.1.mean\": \"1000000000\", \"benchmark.1.err\": \"10000000\","
		"\"benchmark.2.spec\": \"n: 4\", \"benchmark.2.mean\": \"wrong\"}");
	const json_t *answer = commands_must(&c, "alice", "submission.diff", ids(a, b));
	assert_non_null(strstr(commands_text(answer, "diff"), "/a.cpp\n@@ -1,2 +1,2 @@\n int a;\n-int b;\n+int c;\n"));
	assert_int_equal(commands_number(answer, "added"), 1);
	assert_string_equal(commands_text(answer, "devices.0.run"), "ranked");
	assert_int_equal(json_array_size(commands_at(answer, "devices.0.cases")), 3);
	assert_true(member_number(commands_at(answer, "devices.0"), "percent") == -50);
	assert_true(json_is_null(member(answer, "devices.0", "significant")));
	assert_string_equal(commands_text(answer, "devices.0.cases.0.spec"), "n: 1");
	assert_true(member_number(commands_at(answer, "devices.0.cases.0"), "percent") == -50);
	assert_true(json_is_true(member(answer, "devices.0.cases.0", "significant")));
	/* 20 ms apart; the errors of 95 % are 20 ms each, 28 ms together. */
	assert_true(json_is_false(member(answer, "devices.0.cases.1", "significant")));
	/* No interval of that calibrator is known to hold, and the other one has no such case. */
	assert_true(json_is_null(member(answer, "devices.0.cases.2.a", "low")));
	assert_true(json_is_null(member(answer, "devices.0.cases.2", "b")));
	assert_true(json_is_null(member(answer, "devices.0.cases.2", "percent")));
	answer = commands_must(&c, "alice", "submission.diff", ids(a, a));
	assert_string_equal(commands_text(answer, "diff"), "");
	assert_true(json_is_false(member(answer, "devices.0.cases.0", "significant")));
}

static void
test_access(void **state)
{
	(void)state;
	int64_t mine = ranked("bob", "arena", "x\n", 1.0), theirs = ranked("alice", "arena", "SECRET\n", 2.0);
	add_run("leaderboard", 0, "{\"benchmark.0.spec\": \"n: 1\", \"benchmark.0.mean\": \"7\"}");
	int64_t tested = commands_submit(&c, "alice", "arena", "test");
	commands_refused(&c, "bob", "submission.diff", ids(mine, theirs), KETTLE_EACCES);
	commands_refused(&c, "bob", "submission.diff", ids(theirs, mine), KETTLE_EACCES);
	commands_refused(&c, "carol", "submission.diff", ids(theirs, theirs), KETTLE_EACCES);
	commands_refused(&c, "bob", "submission.diff", ids(mine, 999), KETTLE_ENOENT);
	commands_must(&c, "owner", "submission.diff", ids(mine, theirs));
	assert_true(json_is_true(json_object_get(c.result, "cases_shown")));
	/* Where the code is open: code and scores, but nothing of the runs. */
	commands_must(&c, "owner", "leaderboard.update", json_pack("{s:s, s:s}", "name", "arena", "code", "always"));
	const json_t *answer = commands_must(&c, "bob", "submission.diff", ids(mine, theirs));
	assert_non_null(strstr(commands_text(answer, "diff"), "+SECRET\n"));
	assert_true(json_is_false(json_object_get(answer, "cases_shown")));
	assert_true(member_number(commands_at(answer, "devices.0"), "percent") == 100);
	assert_int_equal(json_array_size(commands_at(answer, "devices.0.cases")), 0);
	commands_refused(&c, "bob", "submission.diff", ids(mine, tested), KETTLE_EACCES);
	commands_must(&c, "owner", "leaderboard.update", json_pack("{s:s, s:s}", "name", "arena", "visibility", "closed"));
	commands_refused(&c, "bob", "submission.diff", ids(mine, theirs), KETTLE_ENOENT);
}

static void
test_other_board(void **state)
{
	(void)state;
	int64_t a = ranked("alice", "arena", "x\n", 1.0), b = ranked("alice", "other", "y\n", 2.0);
	const json_t *answer = commands_must(&c, "alice", "submission.diff", ids(a, b));
	assert_int_equal(commands_number(answer, "removed"), 1);
	assert_int_equal(json_array_size(commands_at(answer, "devices")), 0);
}

static const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	TEST(test_cases),
	TEST(test_access),
	TEST(test_other_board),
};

UNIT_TESTS(test_cmd_submission_diff);
