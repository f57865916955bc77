/* SPDX-License-Identifier: MIT */
/* What the command line shows of a submission, with the core's own table. */
#include <config.h>

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/xalloc.h"
#include "lib/cli_host.h"
#include "lib/unit_test.h"

static int
run_terminal(struct cli_state *state, const char *const *argv)
{
	free(STEAL(state->out));
	return cli_host_run_terminal(&state->host, 80, "", argv, &state->out);
}

/* The answer of submission.show. */
static json_t *
submission(json_t *runs_take)
{
	return json_pack("{s:i, s:s, s:s, s:s, s:s, s:b, s:s, s:[{s:i, s:s, s:s, s:f, s:o}]}", "id", 7, "leaderboard_name",
		"vectoradd", "mode", "ranked", "file_name", "submission.cpp", "user_name", "alice", "done", 1,
		"submission_time", "2026-07-01T10:00:00.000Z", "jobs", "job", 70, "device", "CPU", "state", "failed", "score",
		1e-5, "runs", runs_take);
}

/* Of what a program printed a failed report has the end, and `--output` all. */
static void
test_output(void **arg)
{
	struct cli_state *state = *arg;
	AUTO_BUF struct buf lines = {0};
	for (int i = 1; i <= 50; i++)
		buf_printf(&lines, "line %d\n", i);
	json_t *result = submission(json_pack("[{s:s, s:b, s:s, s:s}, {s:s, s:b, s:s}]", "mode", "test", "passed", 0,
		"stdout", lines.data, "stderr", "\033[31mwrong", "mode", "leaderboard", "passed", 1, "stdout", "ranked\n"));
	cli_host_answer(&state->host, "submission.show", json_incref(result));
	assert_int_equal(RUN(state, "submission", "show", "7"), 0);
	HAS(state->out, "  ✗ test\n      (30 lines before)\n      line 31\n");
	HAS(state->out, "      line 50\n      \xef\xbf\xbd[31mwrong\n");
	HAS(state->out, "`kettle submission show 7 --output` shows what it printed.\n");
	cli_host_answer(&state->host, "submission.show", result);
	assert_int_equal(RUN(state, "submission", "show", "7", "--output"), 0);
	AUTO_FREE char *expected = xasprintf("==> CPU, test, stdout <==\n%s\n==> CPU, test, stderr <==\n\033[31mwrong\n\n"
										 "==> CPU, ranked run, stdout <==\nranked\n",
		lines.data);
	assert_string_equal(state->out, expected);
}

/* A failed test says once what is wrong, and all of it with --verbose. */
static void
test_details(void **arg)
{
	struct cli_state *state = *arg;
	static const char runs[] = "[{\"mode\":\"test\",\"passed\":false,\"exit\":112,\"message\":\"1 of 1 test failed: "
							   "the first at 3\",\"result\":{"
							   "\"test-count\":\"1\",\"test.0.spec\":\"size: "
							   "9\",\"test.0.status\":\"fail\",\"test.0.error\":\"the first at 3\","
							   "\"test.0.message\":\"at 4\"}}]";
	for (int verbose = 0; verbose < 2; verbose++) {
		cli_host_answer(&state->host, "submission.show", submission(json_loads(runs, 0, NULL)));
		assert_int_equal(RUN(state, "submission", "show", "7", verbose ? "--verbose" : NULL), 0);
		AUTO_FREE char *expected =
			xasprintf("  ✗ test\n    ✗ size: 9\n        the first at 3\n%s  score", verbose ? "        at 4\n" : "");
		HAS(state->out, expected);
	}
}

/* The number alone is for programs. */
static void
test_no_wait(void **arg)
{
	struct cli_state *state = *arg;
	static const char *const argv[] = {"submission", "rerun", "7", "--no-wait", NULL};
	cli_host_answer(&state->host, "submission.rerun", json_pack("{s:i}", "id", 7));
	assert_int_equal(cli_state_run(state, NULL, argv), 0);
	assert_string_equal(state->out, "7\n");
	cli_host_answer(&state->host, "submission.rerun", json_pack("{s:i}", "id", 7));
	assert_int_equal(run_terminal(state, argv), 0);
	assert_string_equal(state->out, "Rerunning submission 7.\n`kettle submission watch 7` follows it.\n");
}

/* Without a number, or as `latest`, it is the last one of the user: which one that is, the engine knows. */
static void
test_latest(void **arg)
{
	struct cli_state *state = *arg;
	static const char *const commands_of[] = {"show", "watch", "cancel", "download"};
	for (size_t i = 0; i < ARRAY_SIZE(commands_of); i++) {
		AUTO_FREE char *command = xasprintf("submission.%s", commands_of[i]);
		for (int named = 0; named < 2; named++) {
			json_array_clear(state->host.calls);
			cli_host_refuse(&state->host, command, KETTLE_ENOENT, "You have no submissions.");
			assert_int_equal(RUN(state, "submission", commands_of[i], named ? "latest" : NULL), 2);
			const json_t *args = json_object_get(json_array_get(state->host.calls, 0), "args");
			assert_int_equal(json_object_size(args), named);
		}
	}
	assert_int_equal(RUN(state, "submission", "delete", "latest", "--yes"), 2);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, cli_state_setup_core, cli_state_teardown)

static const struct CMUnitTest tests[] = {
	TEST(test_output),
	TEST(test_details),
	TEST(test_no_wait),
	TEST(test_latest),
};

UNIT_TESTS(test_cli_report);
