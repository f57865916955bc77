/* SPDX-License-Identifier: MIT */
/* Reports of runs that passed: what they lack, and where they contradict themselves or their cases. */
#include <config.h>

#include "judge/report.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json_access.h"
#include "judge/step_verdict.h"
#include "lib/unit_test.h"

#define CASES "n: 1; seed: 5\nn: 2; log: True\n"

static const char *const time_keys[] = {"runs", "mean", "low", "high", "ratio", "calibrator", "calibrator-ns",
	"calibrators", "ratios", "raw-mean", "std", "err", "best", "worst"};

/* A report as Kettle's own harnesses make it. New. */
static json_t *
whole_report(const char *noun, bool timed)
{
	static const char *const specs[] = {"n: 1; seed: 5", "n: 2; log: True"};
	json_t *result = json_pack(
		"{s:s, s:o}", "check", "pass", strcmp(noun, "test") == 0 ? "test-count" : "benchmark-count", json_string("2"));
	for (int i = 0; i < 2; i++) {
		AUTO_JSON json_t *spec = json_sprintf("%s.%d.spec", noun, i), *status = json_sprintf("%s.%d.status", noun, i);
		json_object_set_new(result, json_string_value(spec), json_string(specs[i]));
		json_object_set_new(result, json_string_value(status), json_string("pass"));
		for (size_t k = 0; timed && k < ARRAY_SIZE(time_keys); k++) {
			AUTO_JSON json_t *key = json_sprintf("%s.%d.%s", noun, i, time_keys[k]);
			json_object_set_new(result, json_string_value(key), json_string("1"));
		}
	}
	return result;
}

/* The sentence about a report of a run; "" where nothing is wrong. */
static const char *
checked(const char *mode, bool complete, const char *cases, const json_t *result)
{
	static struct kettle_error err;
	AUTO_JSON json_t *json = json_pack("{s:{s:s}}", "cases", "text", cases);
	struct plan_step step = {.json = json, .run = true, .mode = mode, .complete = complete};
	for (const char *at = cases; (at = strchr(at, '\n')); at++)
		step.cases++;
	err = (struct kettle_error){0};
	int rc = report_check(&step, result, &err);
	assert_int_equal(rc, err.message[0] ? KETTLE_EINVAL : 0);
	return err.message;
}

/* Times of sessions are compared with no calibrator; what else they lack was not written. */
static void
test_complete_sessions(void **state)
{
	static const char *const compared[] = {"ratio", "calibrator", "calibrator-ns", "calibrators", "ratios"};
	(void)state;
	AUTO_JSON json_t *result = whole_report("benchmark", true);
	for (size_t i = 0; i < ARRAY_SIZE(compared); i++) {
		AUTO_JSON json_t *first = json_sprintf("benchmark.0.%s", compared[i]);
		AUTO_JSON json_t *second = json_sprintf("benchmark.1.%s", compared[i]);
		json_object_del(result, json_string_value(first));
		json_object_del(result, json_string_value(second));
	}
	json_object_set_new(result, "benchmark.0.sessions", json_string("8"));
	assert_sentence(checked("leaderboard", true, CASES, result));
	json_object_set_new(result, "benchmark.1.sessions", json_string("8"));
	assert_string_equal(checked("leaderboard", true, CASES, result), "");
	json_object_del(result, "benchmark.1.raw-mean");
	assert_sentence(checked("leaderboard", true, CASES, result));
}

/* What a harness that reports all keys lacks, it did not write: every key of every case, in every mode. */
static void
test_complete(void **state)
{
	static const char *const modes[] = {"test", "benchmark", "leaderboard", "profile"};
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
		bool timed = i == 1 || i == 2;
		AUTO_JSON json_t *result = whole_report(i ? "benchmark" : "test", timed);
		assert_int_equal(json_object_size(result), timed ? 34 : 6);
		assert_string_equal(checked(modes[i], true, CASES, result), "");
		const char *key;
		json_t *value;
		json_object_foreach(result, key, value) {
			AUTO_JSON json_t *lacks = json_copy(result);
			json_object_del(lacks, key);
			if (strcmp(key, "check") != 0)
				assert_non_null(strstr(checked(modes[i], true, CASES, lacks), "its report lacks `"));
		}
	}
}

/* A brought harness that names tests gives each of them a status; what it says besides is its own. */
static void
test_names_tests(void **state)
{
	static const struct {
		const char *report, *sentence;
	} reports[] = {
		{"{\"check\": \"pass\"}", ""},
		{"{\"check\": \"pass\", \"tests\": \"2\", \"benchmark-count\": \"7\", \"benchmark.0.status\": \"x\"}", ""},
		{"{\"test-count\": \"2\", \"test.0.status\": \"pass\", \"test.1.status\": \"pass\", \"test.1.spec\": \"x\"}",
			""},
		{"{\"test.0.status\": \"pass\", \"test.1.status\": \"pass\"}", ""},
		{"{\"test-count\": \"2\"}", "its report lacks `status` of test 1, which its harness always gives."},
		{"{\"test-count\": \"2\", \"test.0.status\": \"pass\"}",
			"its report lacks `status` of test 2, which its harness always gives."},
		{"{\"test.1.status\": \"pass\"}", "its report lacks `status` of test 1, which its harness always gives."},
		{"{\"test.1.spec\": \"n: 2\"}", "its report lacks `status` of test 1, which its harness always gives."},
		{"{\"test-count\": \"1\", \"test.0.status\": \"pass\"}", "its harness reported 1 tests, but was given 2."},
		{"{\"test.0.status\": \"pass\", \"test.1.status\": \"skip\"}",
			"its harness reported `check: pass` but also a failure of test 2."},
		{"{\"test.0.status\": \"pass\", \"test.1.status\": 1}",
			"its report lacks `status` of test 2, which its harness always gives."},
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(reports); i++) {
		AUTO_JSON json_t *result = json_loads(reports[i].report, 0, NULL);
		assert_non_null(result);
		assert_string_equal(checked("test", false, CASES, result), reports[i].sentence);
	}
	/* The form has a status of a benchmark only where it failed. */
	AUTO_JSON json_t *times = json_pack("{s:s, s:s}", "benchmark-count", "2", "benchmark.0.spec", "x");
	assert_string_equal(checked("benchmark", false, CASES, times), "");
	json_object_set_new(times, "benchmark.1.status", json_string("fail"));
	assert_string_equal(checked("benchmark", false, CASES, times),
		"its harness reported `check: pass` but also a failure of benchmark 2.");
}

/* The cases that Kettle's own harnesses report are those of the run, in their order. */
static void
test_specs(void **state)
{
	static const char *const others[] = {"n: 1", "n: 1; seed: 5 ", "", "n: 2; log: True", "n: 1; seed: 5\nn: 2"};
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		AUTO_JSON json_t *result = whole_report("test", false);
		json_object_set_new(result, "test.0.spec", json_string(others[i]));
		assert_non_null(strstr(checked("test", true, CASES, result), "reported another test 1 than it was given: `"));
		assert_string_equal(checked("test", false, CASES, result), "");
	}
	AUTO_JSON json_t *swapped = whole_report("benchmark", true);
	json_object_set_new(swapped, "benchmark.1.spec", json_string("n: 1; seed: 5"));
	assert_string_equal(checked("leaderboard", true, CASES, swapped),
		"its harness reported another benchmark 2 than it was given: `n: 1; seed: 5`, not `n: 2; log: True`.");
}

/* A case's line may be longer than what harnesses repeat of it. */
static void
test_long_spec(void **state)
{
	char line[5000], spec[5000];
	(void)state;
	memset(line, '7', sizeof(line));
	memcpy(line + sizeof(line) - 2, "\n", 2);
	(void)snprintf(spec, sizeof(spec), "%.4000s … (cut)", line);
	AUTO_JSON json_t *result =
		json_pack("{s:s, s:s, s:s}", "test-count", "1", "test.0.status", "pass", "test.0.spec", spec);
	assert_string_equal(checked("test", true, line, result), "");
	spec[3999] = '8';
	json_object_set_new(result, "test.0.spec", json_string(spec));
	assert_non_null(strstr(checked("test", true, line, result), "reported another test 1"));
}

/* Of a secret run the sentence repeats nothing that its harness reported. */
static void
test_secret(void **state)
{
	(void)state;
	AUTO_JSON json_t *json = json_pack("{s:{s:s}}", "cases", "text", "n: 1\n"),
					 *pass = json_pack("{s:s}", "check", "pass"),
					 *result = json_pack("{s:s, s:s}", "check", "pass", "test-count", "SEKRET");
	const struct plan_step step = {
		.json = json, .run = true, .mode = "test", .secret = true, .index = -1, .cases = 1, .pass_result = pass};
	const struct outcome outcome = {.state = OUTCOME_PASSED, .exit = {.given = true}, .result = result};
	struct step_result judged;
	step_result_read(NULL, NULL, &step, &outcome, &judged);
	assert_int_equal(judged.state, VERDICT_FAILED);
	assert_string_equal(judged.why.message, "The secret test run is void: its report is malformed.");
}

/* A mean that is not between the calls' times is told with its reason. */
static void
test_remarks(void **state)
{
	static const struct {
		const char *mean, *calibrated, *says;
	} cases[] = {
		{"1500", NULL, NULL},
		{"999.5", NULL, NULL},
		{"900", NULL,
			"The mean of benchmark 1, 900 ns, is not between its fastest and slowest call, 1 µs and 2 µs: that is "
			"how "},
		{"900", "yes", "the device was slower during the run"},
		{"2100", "yes", "the device was faster during the run"},
		{"2100", "no", "the device is not calibrated."},
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO_JSON json_t *result = json_pack("{s:s, s:s, s:s, s:s*, s:s*}", "benchmark.0.mean", cases[i].mean,
			"benchmark.0.best", "1000", "benchmark.0.worst", "2000", "benchmark.0.calibrated", cases[i].calibrated,
			"benchmark.0.ratio", cases[i].calibrated ? "0.5" : NULL);
		AUTO_JSON json_t *remarks = report_remarks(result, NULL);
		assert_int_equal(json_array_size(remarks), cases[i].says ? 1 : 0);
		if (cases[i].says)
			assert_non_null(strstr(json_string_value(json_array_get(remarks, 0)), cases[i].says));
	}
}

/* What is known of its GPU is said in one sentence each; what is not known, in none. */
static void
test_gpu_remarks(void **state)
{
	static const struct {
		const char *device;
		size_t count;
	} cases[] = {
		{"{\"unfit\": {\"0\": [\"thermal\", \"ecc\"], \"1\": [\"thermal\"]}, \"remarks\": [\"mig\", \"power-cap\", 7]}",
			2},
		{"{\"unfit\": {}, \"remarks\": [\"mig\"]}", 1},
		{"{\"unfit\": {\"0\": [\"mig\", \"x\"]}, \"remarks\": [\"x\"]}", 0},
		{"{\"unfit\": [\"ecc\"], \"remarks\": \"mig\"}", 0}, {"{}", 0}};
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO_JSON json_t *device = json_loads(cases[i].device, 0, NULL);
		AUTO_JSON json_t *remarks = report_remarks(NULL, device);
		assert_non_null(device);
		assert_int_equal(json_array_size(remarks), cases[i].count);
		json_array_each(remarks, remark)
			assert_sentence(json_string_value(remark));
	}
}

/* What a harness says that compilers built is anything: only known words and plausible counts are taken. */
static void
test_built(void **state)
{
#define BUILT(kind, ready, device, ...) \
	"{\"device\":" #device ",\"kind\":\"" kind "\",\"ready\":" #ready ",\"reasons\":[" __VA_ARGS__ "]}"
	static const struct {
		const char *said, *read;
	} cases[] = {
		{"[" BUILT("triton", 2, 1, "\"value\",\"ended\"") "," BUILT("graph", 1, 0) "]",
			"[" BUILT("triton", 2, 1, "\"value\",\"ended\"") "," BUILT("graph", 1, 0) "]"},
		{"[" BUILT("triton", 2, 1, "\"made up\",3,\"off\"") "]", "[" BUILT("triton", 2, 1, "\"off\"") "]"},
		{"[" BUILT("triton", 2, 0, "\"off\"") "]", "[" BUILT("triton", 2, 0) "]"},
		{"[" BUILT("other", 2, 1) "]", NULL},
		{"[" BUILT("triton", -1, 1) "," BUILT("triton", 1, 1000001) "]", NULL},
		{"[" BUILT("triton", 1, 1) "," BUILT("triton", 2, 1) "," BUILT("triton", 3, 1) "," BUILT(
			 "triton", 4, 1) "," BUILT("triton", 5, 1) "," BUILT("triton", 6, 1) "]",
			"[" BUILT("triton", 1, 1) "," BUILT("triton", 2, 1) "," BUILT("triton", 3, 1) "," BUILT(
				"triton", 4, 1) "," BUILT("triton", 5, 1) "]"},
		{"[" BUILT("jax", 0, 2, "\"library\"") "," BUILT("cupy", 1, 1, "\"library\"") "]",
			"[" BUILT("jax", 0, 2, "\"library\"") "," BUILT("cupy", 1, 1, "\"library\"") "]"},
		{"[1,null,{}]", NULL},
		{"{\"kind\":\"triton\"}", NULL},
		{"[", NULL},
		{"", NULL},
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO_JSON json_t *result = json_pack("{s:s}", "built", cases[i].said), *built = report_built(result);
		AUTO_FREE char *text = built ? json_dumps(built, JSON_COMPACT | JSON_SORT_KEYS) : NULL;
		assert_int_equal(text != NULL, cases[i].read != NULL);
		if (text)
			assert_string_equal(text, cases[i].read);
	}
	/* Behind spaces it is as right as before them, but too long to be read. */
	for (int len = 4000; len <= 4001; len++) {
		AUTO_JSON json_t *result = json_pack("{s:o}", "built", json_sprintf("%*s", len, cases[0].said));
		AUTO_JSON json_t *built = report_built(result);
		assert_int_equal(built != NULL, len == 4000);
	}
	AUTO_JSON json_t *none = json_object();
	assert_null(report_built(none));
	assert_null(report_built(NULL));
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_built),
	cmocka_unit_test(test_remarks),
	cmocka_unit_test(test_gpu_remarks),
	cmocka_unit_test(test_complete),
	cmocka_unit_test(test_complete_sessions),
	cmocka_unit_test(test_names_tests),
	cmocka_unit_test(test_specs),
	cmocka_unit_test(test_long_spec),
	cmocka_unit_test(test_secret),
};

UNIT_TESTS(test_report);
