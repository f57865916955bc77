/* SPDX-License-Identifier: MIT */
/* What KernelBot's clients read of a submission. */
#include <config.h>

#include "web/compat/results.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/contents.h"
#include "base/json_access.h"
#include "lib/unit_test.h"

#define SENTINEL "SEED 4711" /* what no client may read */

/* A submission of one job, whose members are JSON. */
static json_t *
submission(const char *mode, const char *state, const char *job_members)
{
	char text[8192];
	json_error_t why;
	(void)snprintf(text, sizeof(text),
		"{\"id\": 17, \"leaderboard_id\": 2, \"leaderboard_name\": \"gray\", \"file_name\": \"mine.py\", \"source\": "
		"\"submission.py\", \"user_id\": \"42\", \"user_name\": \"ada\", \"submission_time\": "
		"\"2026-10-01T09:00:00Z\", \"mode\": \"%s\", \"state\": \"%s\", \"done\": true, \"flagged\": null, \"note\": "
		"null, \"code\": \"pass\", \"job\": {\"status\": \"failed\", \"error\": \"It failed.\", \"last_heartbeat\": "
		"\"2026-10-01T09:00:02Z\"}, \"jobs\": [{\"job\": 5, \"device\": \"CPU\", \"state\": \"%s\", \"error\": \"It "
		"failed.\", \"system\": {\"gpu\": \"B200\", \"count\": 1, \"host\": \"box\"}, %s}]}",
		mode, state, state, job_members);
	json_t *value = json_loads(text, 0, &why);
	if (!value)
		fail_msg("%s: %s", why.text, text);
	return value;
}

static json_t *
job_of(const json_t *made)
{
	return json_array_get(json_object_get(made, "jobs"), 0);
}

static json_t *
at(const json_t *value, const char *list, size_t index)
{
	return json_array_get(json_object_get(value, list), index);
}

#define WRONG_TEST \
	"\"compilation\": [], \"artifacts\": [], \"runs\": [{\"mode\": \"test\", \"secret\": false, \"passed\": false, " \
	"\"state\": \"failed\", \"exit\": 112, \"message\": \"1 of 2 tests failed.\", \"stdout\": \"hello\", \"stderr\": " \
	"\"Traceback\", \"wall_ns\": 900000000, \"score\": null, \"start_time\": \"2026-10-01T09:00:01Z\", \"end_time\": " \
	"\"2026-10-01T09:00:02Z\", \"command\": \"python3 eval.py\", \"result\": {\"check\": \"fail\", \"test-count\": " \
	"\"2\"}}]"

#define RANKED(secret_passed) \
	"\"compilation\": [], \"artifacts\": [], \"runs\": [{\"mode\": \"leaderboard\", \"secret\": false, \"passed\": " \
	"true, \"exit\": 0, \"wall_ns\": 1, \"score\": 0.00013, \"result\": {\"benchmark-count\": \"1\"}}, {\"mode\": " \
	"\"leaderboard\", \"secret\": true, \"passed\": " secret_passed ", \"score\": null, \"stderr\": \"" SENTINEL \
	"\", \"message\": \"" SENTINEL "\", \"result\": {\"benchmark.0.spec\": \"" SENTINEL "\"}}]"

/* A wrong kernel has succeeded as a job, and its run says what is wrong. */
static void
test_wrong(void **state)
{
	(void)state;
	AUTO_JSON json_t *made = submission("test", "failed", WRONG_TEST), *shown = results_shown(made);
	const json_t *run = at(shown, "runs", 0), *said = json_object_get(run, "diagnostics");
	assert_true(member_is(json_object_get(shown, "job"), "status", "succeeded"));
	assert_true(json_is_null(json_object_get(json_object_get(shown, "job"), "error")));
	assert_true(member_is(run, "runner", "CPU"));
	assert_true(json_is_false(json_object_get(run, "passed")));
	assert_true(member_is(json_object_get(run, "result"), "test-count", "2"));
	assert_int_equal(member_int(said, "exit_code"), 112);
	assert_true(member_true(said, "success"));
	/* The rows of the result say what the engine's sentence does. */
	assert_true(member_is(said, "stderr", "Traceback"));
	assert_true(json_is_null(json_object_get(said, "compilation")));
	assert_int_equal(member_int(shown, "id"), 17);
	assert_true(member_is(shown, "user_id", "42"));
	assert_null(results_failure(made));
}

/* What ran out of time ends with 114 and a sentence, whatever it printed. */
static void
test_late(void **state)
{
	(void)state;
	AUTO_JSON json_t *made = submission("test", "timed_out",
		"\"compilation\": [], \"runs\": [{\"mode\": \"test\", \"secret\": false, \"passed\": false, \"exit\": 114, "
		"\"signal\": 9, \"message\": \"It took over 10 s.\", \"stdout\": \"\", \"stderr\": \"warming up\"}]");
	AUTO_JSON json_t *shown = results_shown(made);
	const json_t *said = json_object_get(at(shown, "runs", 0), "diagnostics");
	assert_true(member_is(json_object_get(shown, "job"), "status", "succeeded"));
	assert_int_equal(member_int(said, "exit_code"), 114);
	assert_false(member_true(said, "success"));
	assert_true(member_is(said, "stderr", "warming up\nIt took over 10 s."));
}

/* A run that a signal ended has the exit status of a shell. */
static void
test_killed(void **state)
{
	(void)state;
	AUTO_JSON json_t *made = submission("benchmark", "failed",
		"\"runs\": [{\"mode\": \"benchmark\", \"secret\": false, \"passed\": false, \"exit\": null, \"signal\": 11}]");
	AUTO_JSON json_t *shown = results_shown(made);
	assert_int_equal(member_int(json_object_get(at(shown, "runs", 0), "diagnostics"), "exit_code"), 139);
}

#define NOT_COMPILED \
	"\"runs\": [], \"compilation\": [{\"title\": \"a\", \"passed\": true, \"stdout\": \"\", \"stderr\": \"fine\"}, " \
	"{\"title\": \"b\", \"passed\": false, \"exit\": 1, \"stdout\": \"\", \"stderr\": \"k.cpp:1: no\"}]"

/* What does not compile has a run that says so: of a ranked submission, one that is no ranked run. */
static void
test_not_compiled(void **state)
{
	(void)state;
	static const char *const modes[][2] = {{"benchmark", "benchmark"}, {"ranked", "test"}};
	for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
		AUTO_JSON json_t *made = submission(modes[i][0], "failed", NOT_COMPILED), *shown = results_shown(made);
		AUTO_JSON json_t *result = results_job(made, job_of(made));
		const json_t *run = at(shown, "runs", 0), *runs = json_object_get(result, "runs");
		const json_t *built = json_object_get(json_object_get(run, "diagnostics"), "compilation");
		assert_true(member_is(run, "mode", modes[i][1]));
		assert_false(member_true(built, "success"));
		assert_true(member_is(built, "stderr", "k.cpp:1: no"));
		assert_true(member_is(json_object_get(shown, "job"), "status", i == 0 ? "succeeded" : "failed"));
		assert_null(results_failure(made));
		assert_int_equal(json_object_size(runs), 1);
		assert_true(json_is_null(json_object_get(json_object_get(runs, modes[i][1]), "run")));
	}
}

/* Nothing of a secret run but that it passed is in any form. */
static void
test_secret(void **state)
{
	(void)state;
	AUTO_JSON json_t *made = submission("ranked", "passed", RANKED("true"));
	AUTO_JSON json_t *shown = results_shown(made), *result = results_job(made, job_of(made));
	AUTO_JSON json_t *admin = results_admin(made);
	AUTO_JSON json_t *all = json_pack("[O, O, O]", shown, result, admin);
	AUTO_FREE char *text = json_dumps(all, JSON_COMPACT);
	assert_null(strstr(text, SENTINEL));
	assert_int_equal(json_array_size(json_object_get(shown, "runs")), 2);
	assert_true(member_true(at(shown, "runs", 1), "secret"));
	assert_true(member_true(at(shown, "runs", 1), "passed"));
	assert_null(json_object_get(at(shown, "runs", 0), "result"));
	assert_int_equal(json_object_size(json_object_get(result, "runs")), 1);
	assert_true(member_is(at(admin, "runs", 0), "runner", "CPU"));
	assert_int_equal(member_int(json_object_get(at(admin, "runs", 0), "meta"), "exit_code"), 0);
	assert_null(json_object_get(at(admin, "runs", 1), "meta"));
	assert_int_equal(member_int(admin, "submission_id"), 17);
	assert_true(member_is(admin, "job_status", "failed"));
}

/* What has nothing to show is an error: no success for a ranked one that failed in its secret half alone. */
static void
test_failure(void **state)
{
	(void)state;
	AUTO_JSON json_t *secret = submission("ranked", "failed", RANKED("false"));
	AUTO_JSON json_t *passed = submission("ranked", "passed", RANKED("true"));
	AUTO_JSON json_t *lost = submission("test", "error", WRONG_TEST);
	AUTO_JSON json_t *ended = submission("test", "cancelled", "\"runs\": []");
	assert_string_equal(results_failure(secret), "It failed.");
	assert_string_equal(results_failure(lost), "It failed.");
	assert_string_equal(results_failure(ended), "It failed.");
	assert_null(results_failure(passed));
	AUTO_JSON json_t *result = results_job(lost, job_of(lost));
	assert_false(member_true(result, "success"));
	assert_true(member_is(result, "error", "It failed."));
}

static void
test_result(void **state)
{
	(void)state;
	AUTO_JSON json_t *made = submission("test", "failed", WRONG_TEST), *result = results_job(made, job_of(made));
	const json_t *entry = json_object_get(json_object_get(result, "runs"), "test");
	const json_t *ran = json_object_get(entry, "run"), *system = json_object_get(result, "system");
	assert_true(member_true(result, "success"));
	assert_true(member_is(system, "gpu", "B200"));
	assert_true(member_is(system, "hostname", "box"));
	assert_int_equal(member_int(system, "device_count"), 1);
	assert_true(json_is_null(json_object_get(system, "torch")));
	assert_true(member_true(ran, "success"));
	assert_false(member_true(ran, "passed"));
	assert_true(member_is(ran, "command", "python3 eval.py"));
	assert_true(member_is(entry, "start", "2026-10-01T09:00:01Z"));
	assert_true(json_is_null(json_object_get(entry, "profile")));
	AUTO_FREE char *report = results_report(made, job_of(made));
	assert_non_null(strstr(report, "mine.py"));
	assert_null(strchr(report, '\t'));
}

/* base64 with `*` in place of `/` of "own???" and of "ncu". */
#define PROFILE(tool) \
	"\"compilation\": null, \"artifacts\": [{\"id\": 8, \"step\": \"profile-3\", \"name\": \"profile.zip\", " \
	"\"size\": " \
	"9, \"expired\": null}, {\"id\": 9, \"step\": \"profile-3\", \"name\": \"other.txt\", \"size\": 1, \"expired\": " \
	"null}, {\"id\": 10, \"step\": \"profile-4\", \"name\": \"profile.zip\", \"size\": 1, \"expired\": " \
	"\"2026-10-02T00:00:00Z\"}], \"runs\": [{\"mode\": \"profile\", \"index\": 3, \"secret\": false, \"passed\": " \
	"true, " \
	"\"exit\": 0, \"stdout\": \"\", \"stderr\": \"\", \"result\": {\"benchmark-count\": \"1\", \"benchmark.0.spec\": " \
	"\"n: 512\", \"benchmark.0.report\": \"b3duPz8*\", \"profile.tool\": \"" tool \
	"\", \"profile.report\": \"bmN1\"}}]"

static void
test_profile(void **state)
{
	(void)state;
	AUTO_JSON json_t *made = submission("profile", "passed", PROFILE("ncu")), *result = results_job(made, job_of(made));
	AUTO_JSON json_t *traces = results_traces(job_of(made));
	const json_t *entry = json_object_get(json_object_get(result, "runs"), "profile.3");
	const json_t *ran = json_object_get(entry, "run"), *said = json_object_get(ran, "result");
	AUTO_FREE void *report = NULL;
	size_t size = 0;
	assert_int_equal(json_integer_value(json_object_get(said, "benchmark-count")), 1);
	assert_true(member_is(said, "benchmark.0.spec", "n: 512"));
	const char *coded = json_text_or_empty(said, "benchmark.0.report");
	assert_int_equal(base64_decode(coded, strlen(coded), &report, &size), 0);
	assert_string_equal(report, "own???\nncu");
	assert_true(member_is(json_object_get(entry, "profile"), "profiler", "Nsight-Compute"));
	assert_true(member_is(json_object_get(entry, "profile"), "trace", ""));
	assert_int_equal(json_array_size(traces), 1);
	assert_true(member_is(json_array_get(traces, 0), "run", "profile.3"));
	assert_int_equal(member_int(json_array_get(traces, 0), "artifact"), 8);
	results_put_trace(result, "profile.3", "UEsDBA==");
	results_put_trace(result, "profile.9", "UEsDBA==");
	results_need_ncu(result, 17);
	assert_true(member_is(json_object_get(entry, "profile"), "trace", "UEsDBA=="));
	assert_true(member_true(ran, "success"));
}

/* A client of /profile reads no other profiler's files, and would take an empty text for a broken zip. */
static void
test_other_profiler(void **state)
{
	(void)state;
	static const char *const zips[] = {"UEsDBA==", ""};
	for (size_t i = 0; i < ARRAY_SIZE(zips); i++) {
		AUTO_JSON json_t *made = submission("profile", "passed", PROFILE("perf"));
		AUTO_JSON json_t *result = results_job(made, job_of(made));
		const json_t *entry = json_object_get(json_object_get(result, "runs"), "profile.3");
		results_put_trace(result, "profile.3", zips[i]);
		results_need_ncu(result, 17);
		assert_true(json_is_null(json_object_get(json_object_get(entry, "profile"), "trace")));
		assert_false(member_true(json_object_get(entry, "run"), "success"));
		assert_sentence(json_text_or_empty(json_object_get(entry, "run"), "stderr"));
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_wrong),
	cmocka_unit_test(test_late),
	cmocka_unit_test(test_killed),
	cmocka_unit_test(test_not_compiled),
	cmocka_unit_test(test_secret),
	cmocka_unit_test(test_failure),
	cmocka_unit_test(test_result),
	cmocka_unit_test(test_profile),
	cmocka_unit_test(test_other_profiler),
};
UNIT_TESTS(test_results);
