/* SPDX-License-Identifier: MIT */
/* Calibration: its text, what harnesses say of it, machines that change; and the intervals of scores. */
#include <config.h>

#include "judge/calibration.h"

#include "base/cleanup.h"
#include "judge/run_steps.h"
#include "judge/score.h"
#include "lib/unit_test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static json_t *
parse(const char *text)
{
	json_t *value = json_loads(text, 0, NULL);
	assert_non_null(value);
	return value;
}

static bool
close_to(double a, double b)
{
	return fabs(a - b) <= 1e-9 * fabs(b);
}

static void
test_text(void **state)
{
	(void)state;
	AUTO_JSON json_t *calibration =
		parse("{\"names\": {\"cpu-c-1\": 129400.26, \"cpu-py-1\": 5, \"no name\": 1, \"zero\": 0, \"less\": -1, "
			  "\"text\": \"1\", \"\": 3}, \"spreads\": {\"cpu-c-1\": 0.0125, \"cpu-py-1\": 7, \"other\": 0.1}}");
	AUTO_FREE char *text = calibration_text(calibration, NULL), *none = calibration_text(NULL, "a");
	assert_string_equal(text, "cpu-c-1=129400.3:0.01250 cpu-py-1=5.0");
	assert_string_equal(none, "");
	AUTO_JSON json_t *many = json_object();
	for (int i = 0; i < 2 * CALIBRATION_NAMES_MAX; i++) {
		char name[16];
		(void)snprintf(name, sizeof(name), "c-%d", i);
		json_object_set_new(many, name, json_real(1));
	}
	AUTO_JSON json_t *all = json_pack("{s:O}", "names", many);
	AUTO_FREE char *bounded = calibration_text(all, NULL);
	size_t count = 0;
	for (const char *at = bounded; (at = strchr(at, '=')); at++)
		count++;
	assert_int_equal(count, CALIBRATION_NAMES_MAX);
}

/* A task gets what its own calibrators take besides, and no other task does. */
static void
test_own_text(void **state)
{
	(void)state;
	AUTO_JSON json_t *calibration = parse("{\"names\": {\"c\": 1, \"c-own-no\": 2}, \"spreads\": {\"c-own-a\": 0.1}, "
										  "\"tasks\": {\"A\": {\"c-own-a\": 3, \"c\": 4, \"d\": 5, \"c-own-bad\": 0}, "
										  "\"B\": {\"c-own-b\": 6}, \"none\": {}, \"odd\": 7}}");
	static const char *const texts[][2] = {
		{"A", "c=1.0 c-own-a=3.0"}, {"B", "c=1.0 c-own-b=6.0"}, {"none", "c=1.0"}, {"odd", "c=1.0"}, {"C", "c=1.0"}};
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		AUTO_FREE char *text = calibration_text(calibration, texts[i][0]);
		assert_string_equal(text, texts[i][1]);
	}
	AUTO_FREE char *unit = calibration_text(calibration, NULL);
	assert_string_equal(unit, "c=1.0");
	assert_true(calibration_is_own("cpu-c-1-own-avx2-1270120e"));
	static const char *const others[] = {"cpu-c-1-both", "own-1", "c-own", "c own-own-1", ""};
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		assert_false(calibration_is_own(others[i]));
	assert_false(calibration_is_own(NULL));
}

/* Harnesses read so many bytes: what does not fit is left out as a whole. */
static void
test_longest_text(void **state)
{
	(void)state;
	AUTO_JSON json_t *calibration = parse("{\"names\": {\"c\": 1}, \"tasks\": {\"A\": {}, \"B\": {}}}");
	json_t *tasks = json_object_get(calibration, "tasks");
	for (int i = 0; i < 2 * CALIBRATION_OWN_MAX; i++) {
		char name[80];
		(void)snprintf(name, sizeof(name), "c-own-%d", i);
		json_object_set_new(json_object_get(tasks, "A"), name, json_real(1));
		(void)snprintf(name, sizeof(name), "c-own-%058d", i);
		assert_true(calibration_is_own(name));
		json_object_set_new(json_object_get(tasks, "B"), name, json_real(1));
	}
	AUTO_FREE char *many = calibration_text(calibration, "A"), *text = calibration_text(calibration, "B");
	size_t count = 0;
	for (const char *at = many; (at = strchr(at, '=')); at++)
		count++;
	assert_int_equal(count, 1 + CALIBRATION_OWN_MAX);
	assert_in_range(strlen(text), CALIBRATION_TEXT_MAX - 69, CALIBRATION_TEXT_MAX);
	assert_string_equal(text + strlen(text) - 4, "=1.0");
}

/* What is kept of tasks, and how many. */
static void
test_tasks(void **state)
{
	(void)state;
	AUTO_JSON json_t *calibration = parse("{\"names\": {}}"), *names = parse("{\"c-own-1\": 1}"), *none = json_object();
	struct kettle_error err = {0};
	assert_false(calibration_has_task(calibration, "0"));
	for (int i = 0; i < CALIBRATION_TASKS_MAX; i++) {
		char hash[16];
		(void)snprintf(hash, sizeof(hash), "%d", i);
		assert_int_equal(calibration_set_task(calibration, hash, i ? none : names, &err), 0);
	}
	assert_true(calibration_has_task(calibration, "0") && calibration_has_task(calibration, "1"));
	assert_int_equal(calibration_set_task(calibration, "more", names, &err), KETTLE_ETOOBIG);
	assert_int_equal(calibration_set_task(calibration, "1", names, &err), 0);
	AUTO_JSON json_t *hashes = parse("{\"1\": 0, \"7\": 0, \"more\": 0}"),
					 *kept = parse("{\"1\": {\"c-own-1\": 1}, \"7\": {}}");
	calibration_keep_tasks(calibration, hashes);
	assert_true(json_equal(json_object_get(calibration, "tasks"), kept));
	AUTO_JSON json_t *empty = json_object();
	calibration_keep_tasks(empty, hashes);
	assert_int_equal(json_object_size(empty), 0);
}

/* Every run of a job finds it in its environment, and a language may not take it away. */
static void
test_runs(void **state)
{
	(void)state;
	AUTO_JSON json_t *task = parse("{\"multi_gpu\": true, \"test_timeout\": 1, \"benchmark_timeout\": 1, "
								   "\"ranked_timeout\": 1, \"ranking_by\": \"last\", \"files\": [], "
								   "\"tests\": [{\"n\": 1}], \"benchmarks\": [{\"n\": 2}]}");
	AUTO_JSON json_t *runs = NULL, *plain = NULL;
	assert_int_equal(run_steps_make(task, "ranked", "7", "cpu-c-1=1000.0", NULL, &runs, NULL), 0);
	assert_int_equal(json_array_size(runs), 6);
	size_t i;
	json_t *run;
	json_array_foreach(runs, i, run) {
		const json_t *env = json_object_get(run, "env");
		assert_string_equal(json_string_value(json_object_get(env, CALIBRATION_VARIABLE)), "cpu-c-1=1000.0");
		assert_string_equal(json_string_value(json_object_get(env, "POPCORN_GPUS")), "1");
	}
	json_object_set_new(task, "multi_gpu", json_false());
	assert_int_equal(run_steps_make(task, "test", NULL, NULL, NULL, &plain, NULL), 0);
	assert_null(json_object_get(json_array_get(plain, 0), "env"));
}

static void
test_machine(void **state)
{
	(void)state;
	AUTO_JSON json_t *stored = parse("{\"machine\": {\"cpu\": \"A\", \"cores\": 4, \"memory\": 16000000000}}");
	static const struct {
		const char *machine;
		bool changed;
	} cases[] = {{"{\"cpu\": \"A\", \"cores\": 4, \"memory\": 16000000000, \"kernel\": \"7\"}", false},
		{"{\"cpu\": \"A\", \"cores\": 4, \"memory\": 15900000000}", false}, {"{}", false},
		{"{\"cpu\": \"B\", \"cores\": 4, \"memory\": 16000000000}", true},
		{"{\"cpu\": \"A\", \"cores\": 2, \"memory\": 16000000000}", true},
		{"{\"cpu\": \"A\", \"cores\": 4, \"memory\": 32000000000}", true}};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO_JSON json_t *machine = parse(cases[i].machine);
		assert_int_equal(calibration_machine_changed(stored, machine), cases[i].changed);
	}
	assert_false(calibration_machine_changed(stored, NULL));
	assert_false(calibration_machine_changed(NULL, NULL));
}

static void
test_collect(void **state)
{
	(void)state;
	AUTO_JSON json_t *samples = json_object();
	static const char *const results[] = {"{\"benchmark.0.calibrator\": \"py\", \"benchmark.0.calibrator-ns\": \"30\", "
										  "\"benchmark.1.calibrator\": \"py\", "
										  "\"benchmark.1.calibrator-ns\": \"10\"}",
		"{\"benchmark.0.calibrators\": \"tile=5 read=1e1 junk =4 bad=nan worse=-1 x y=2=3\", "
		"\"benchmark.1.calibrator\": \"py\", \"benchmark.1.calibrator-ns\": \"20\"}",
		"{\"benchmark.0.calibrators\": \"c-own-1=5\", \"benchmark.1.calibrators\": \"c-own-2=6 c-own-1=7\"}",
		"{\"benchmark.0.calibrator\": \"a b\", \"benchmark.0.calibrator-ns\": \"20\"}",
		"{\"benchmark.0.calibrator\": \"py\", \"benchmark.0.calibrator-ns\": \"inf\"}", "{}"};
	static const size_t taken[] = {2, 3, 0, 0, 0, 0};
	for (size_t i = 0; i < ARRAY_SIZE(results); i++) {
		AUTO_JSON json_t *result = parse(results[i]);
		assert_int_equal(calibration_collect(result, 2, false, samples), taken[i]);
	}
	AUTO_JSON json_t *medians = calibration_medians(samples),
					 *wanted = parse("{\"py\": 20.0, \"tile\": 5.0, \"read\": 10.0}");
	assert_true(json_equal(medians, wanted));
	AUTO_JSON json_t *own = json_object(), *own_wanted = parse("{\"c-own-1\": 6.0, \"c-own-2\": 6.0}");
	for (size_t i = 0; i < ARRAY_SIZE(results); i++) {
		AUTO_JSON json_t *result = parse(results[i]);
		assert_int_equal(calibration_collect(result, 2, true, own), i == 2 ? 3 : 0);
	}
	AUTO_JSON json_t *own_medians = calibration_medians(own);
	assert_true(json_equal(own_medians, own_wanted));
	AUTO_JSON json_t *two = parse("{\"a\": [1.0, 4.0], \"none\": []}"), *middle = calibration_medians(two);
	assert_true(close_to(json_number_value(json_object_get(middle, "a")), 2.5));
	assert_int_equal(json_object_size(middle), 1);
}

/* What 95 % of further runs are within: Student's factor times the standard deviation of one more from the mean. */
static void
test_spreads(void **state)
{
	(void)state;
	AUTO_JSON json_t *ratios = json_object(), *spreads = parse("{\"large\": 0.4}");
	static const char *const values[] = {"a=1.9 b=3 large=1", "a=2.1 b=3 large=1.01", "a=1.9 b=3 large=1",
		"a=2.1 wild=1", "a=2 wild=100 c=1", "c=2 wild=1"};
	for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
		AUTO_JSON json_t *result = json_pack("{s:s}", "benchmark.0.ratios", values[i]);
		assert_true(calibration_collect_ratios(result, ratios) > 0);
	}
	AUTO_JSON json_t *nothing = json_object();
	assert_int_equal(calibration_collect_ratios(nothing, ratios), 0);
	calibration_spreads(ratios, spreads);
	assert_true(close_to(json_number_value(json_object_get(spreads, "a")), 2.78 * 0.1 / 2 * sqrt(1 + 1 / 5.)));
	assert_true(close_to(json_number_value(json_object_get(spreads, "wild")), CALIBRATION_SPREAD_MAX));
	assert_true(close_to(json_number_value(json_object_get(spreads, "large")), 0.4));
	assert_int_equal(json_object_size(spreads), 3);
}

/* What today's tasks do not measure stays, for boards with an older harness; new times win, and there is an end to it. */
static void
test_keeps_names(void **state)
{
	(void)state;
	AUTO_JSON json_t *now = parse("{\"names\": {\"a\": 1.0}, \"spreads\": {}}");
	AUTO_JSON json_t *before =
		parse("{\"names\": {\"a\": 9.0, \"old\": 2.0}, \"spreads\": {\"a\": 0.3, \"old\": 0.1}}");
	calibration_keep_names(now, before, 50, 49);
	AUTO_JSON json_t *expected =
		parse("{\"names\": {\"a\": 1.0, \"old\": 2.0}, \"spreads\": {\"old\": 0.1}, \"kept\": {\"old\": 50}}");
	assert_true(json_equal(now, expected));
	for (int i = 0; i < CALIBRATION_NAMES_MAX; i++) {
		AUTO_JSON json_t *name = json_sprintf("n%d", i);
		json_object_set_new(json_object_get(before, "names"), json_string_value(name), json_real(1));
	}
	calibration_keep_names(now, before, 50, INT64_MIN);
	assert_int_equal(json_object_size(json_object_get(now, "names")), CALIBRATION_NAMES_MAX);
}

/* A name goes once each board's task is younger than the first calibration that lacked it. */
static void
test_forgets_names(void **state)
{
	(void)state;
	AUTO_JSON json_t *before = parse("{\"names\": {\"a\": 9.0, \"b\": 2.0}, \"spreads\": {}, \"kept\": {\"a\": 50}}");
	static const struct {
		int64_t oldest;
		const char *kept;
	} cases[] = {{INT64_MIN, "{\"a\": 50, \"b\": 90}"}, {49, "{\"a\": 50, \"b\": 90}"}, {50, "{\"b\": 90}"},
		{89, "{\"b\": 90}"}, {90, NULL}, {INT64_MAX, NULL}};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO_JSON json_t *now = parse("{\"names\": {\"c\": 1.0}, \"spreads\": {}}"),
						 *kept = cases[i].kept ? parse(cases[i].kept) : NULL;
		calibration_keep_names(now, before, 90, cases[i].oldest);
		assert_int_equal(json_object_size(json_object_get(now, "names")), 1 + json_object_size(kept));
		assert_true(kept ? json_equal(json_object_get(now, "kept"), kept) : !json_object_get(now, "kept"));
	}
}

/* ---- intervals ---- */

static const struct score_interval_kind kinds[] = {
	{"cpu-c-1", "a test"}, {"cuda-c-1-own", "a test"}, {SCORE_SESSIONS, "a test"}, {NULL, NULL}};

/* The result of one benchmark: its mean, 1,000 ns, and whatever is said besides. */
static int
score_of(const char *more, struct score *ret_score)
{
	AUTO_JSON json_t *result = parse(more);
	struct kettle_error err = {0};
	const char *key;
	json_t *value;
	AUTO_JSON json_t *full = json_pack("{s:s}", "benchmark.0.mean", "1000");
	json_object_foreach(result, key, value) {
		char name[64];
		(void)snprintf(name, sizeof(name), "benchmark.0.%s", key);
		json_object_set(full, name, value);
	}
	int rc = score_read(full, 1, "last", kinds, ret_score, &err);
	assert_int_equal(rc < 0, err.message[0] != '\0');
	return rc;
}

#define OF(name) "{\"calibrator\": \"" name "\", "

/* An interval is one of a kind of harness and device that is known to have right ones. */
static void
test_intervals(void **state)
{
	(void)state;
	static const struct {
		const char *said;
		double low, high; /* ns; 0: there is none */
	} cases[] = {{"{}", 0, 0}, {"{\"low\": \"990\", \"high\": \"1020\"}", 0, 0}, {"{\"err\": \"10\"}", 0, 0},
		{OF("cpu-c-1-both") "\"low\": \"990\", \"high\": \"1020\"}", 990, 1020},
		{OF("cpu-c-1") "\"low\": \"1000\", \"high\": \"1000\"}", 1000, 1000},
		{OF("cpu-c-11-both") "\"low\": \"990\", \"high\": \"1020\"}", 0, 0},
		{OF("cuda-c-1-both") "\"low\": \"990\", \"high\": \"1020\"}", 0, 0},
		{OF("cuda-c-1-own-12") "\"low\": \"990\", \"high\": \"1020\", \"err\": \"500\"}", 990, 1020},
		{OF("cpu-c-1-both") "\"err\": \"10\"}", 0, 0},
		{"{\"sessions\": \"8\", \"low\": \"990\", \"high\": \"1020\"}", 990, 1020},
		{OF("cpu-c-1-both") "\"low\": \"1e-300\", \"high\": \"1e300\"}", 500, 2000}};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct score score = {0};
		assert_int_equal(score_of(cases[i].said, &score), 0);
		assert_true(close_to(score.value, 1e-6));
		assert_true(close_to(score.low * 1e9, cases[i].low) && close_to(score.high * 1e9, cases[i].high));
	}
}

static void
test_bad_intervals(void **state)
{
	(void)state;
	static const char *const bad[] = {"{\"low\": \"990\"}", "{\"high\": \"1010\"}",
		"{\"low\": \"nan\", \"high\": \"1010\"}", "{\"low\": \"990\", \"high\": \"inf\"}",
		"{\"low\": \"-990\", \"high\": \"1010\"}", "{\"low\": \"0\", \"high\": \"1010\"}",
		"{\"low\": \"1001\", \"high\": \"1010\"}", "{\"low\": \"990\", \"high\": \"999\"}",
		"{\"low\": \"990\", \"high\": \"1010 \"}", "{\"ratio\": \"0\"}", "{\"ratio\": \"nan\"}",
		"{\"calibrator-ns\": \"-5\"}", "{\"raw-mean\": \"\"}", "{\"calibrator\": \"a b\"}", "{\"calibrator\": \"\"}",
		"{\"calibrator\": \"cpu-c-1\", \"best\": \"2001\"}",
		"{\"calibrator\": \"cpu-c-1\", \"best\": \"2001\", \"ratio\": \".01\", \"calibrator-ns\": \"1e5\"}"};
	static const char *const good[] = {"{\"calibrator\": \"cpu-c-1\", \"best\": \"1999\"}", "{\"best\": \"2001\"}",
		"{\"calibrator\": \"cpu-c-1\", \"calibrator-ns\": \"1e5\", \"ratio\": \".01\", \"raw-mean\": \"1100\"}"};
	struct score score = {.value = 7};
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(score_of(bad[i], &score), KETTLE_EINVAL);
	assert_true(close_to(score.value, 7));
	for (size_t i = 0; i < ARRAY_SIZE(good); i++)
		assert_int_equal(score_of(good[i], &score), 0);
}

/*
 * Calls and calibrator took three times as long as on the quiet device, or no session was calm: no score, and nothing to
 * reproach.
 */
static void
test_slow_machine(void **state)
{
	(void)state;
	struct score score = {.value = 7};
	static const char slow[] = "{\"calibrator\": \"cpu-c-1\", \"best\": \"2900\", \"ratio\": \".1\", "
							   "\"calibrator-ns\": \"30000\", \"raw-mean\": \"3000\"}";
	assert_int_equal(score_of(slow, &score), KETTLE_EUNAVAIL);
	assert_int_equal(score_of("{\"sessions\": \"8\", \"busy\": \"yes\"}", &score), KETTLE_EUNAVAIL);
	assert_true(close_to(score.value, 7));
}

/* Errors of several benchmarks add up in squares; one without an interval leaves none. */
static void
test_combined(void **state)
{
	(void)state;
	AUTO_JSON json_t *result =
		parse("{\"benchmark.0.calibrator\": \"cpu-c-1-both\", \"benchmark.1.calibrator\": \"cpu-c-1-own-1\", "
			  "\"benchmark.0.mean\": \"1000\", \"benchmark.0.low\": \"970\", \"benchmark.0.high\": \"1030\", "
			  "\"benchmark.1.mean\": \"4000\", \"benchmark.1.low\": \"3960\", \"benchmark.1.high\": \"4040\"}");
	struct score score;
	assert_int_equal(score_read(result, 2, "mean", kinds, &score, NULL), 0);
	assert_true(close_to(score.low * 1e9, 2475) && close_to(score.high * 1e9, 2525));
	assert_int_equal(score_read(result, 2, "geom", kinds, &score, NULL), 0);
	assert_true(close_to(score.value * 1e9, 2000));
	assert_true(close_to(score.high * 1e9, 2000 * exp(hypot(log(1030 / 1000.), log(4040 / 4000.)) / 2)));
	assert_true(close_to(score.low * 1e9, 2000 / exp(hypot(log(1000 / 970.), log(4000 / 3960.)) / 2)));
	assert_int_equal(score_read(result, 2, "mean", score_interval_kinds, &score, NULL), 0);
	assert_true(score.low == 0 && score.high == 0 && close_to(score.value * 1e9, 2500));
	json_object_del(result, "benchmark.1.low");
	json_object_del(result, "benchmark.1.high");
	assert_int_equal(score_read(result, 2, "mean", kinds, &score, NULL), 0);
	assert_true(score.low == 0 && score.high == 0);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_keeps_names),
	cmocka_unit_test(test_forgets_names),
	cmocka_unit_test(test_text),
	cmocka_unit_test(test_own_text),
	cmocka_unit_test(test_longest_text),
	cmocka_unit_test(test_tasks),
	cmocka_unit_test(test_runs),
	cmocka_unit_test(test_machine),
	cmocka_unit_test(test_collect),
	cmocka_unit_test(test_spreads),
	cmocka_unit_test(test_intervals),
	cmocka_unit_test(test_bad_intervals),
	cmocka_unit_test(test_slow_machine),
	cmocka_unit_test(test_combined),
};

UNIT_TESTS(test_calibration);
