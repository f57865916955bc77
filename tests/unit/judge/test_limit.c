/* SPDX-License-Identifier: MIT */
/* The least times of benchmarks: by work and peak, as the task ranks, and unknown where one of both is. */
#include <config.h>

#include "judge/limit.h"

#include <math.h>

#include "base/cleanup.h"
#include "base/json_access.h"
#include "lib/unit_test.h"

static const struct limit_peak both = {.bytes = 1e9, .operations = 1e12}, none = {0, 0};

/* A task of three benchmarks: n 1, 10 and 100. work is taken. New reference. */
static json_t *
task_with(json_t *work_take, const char *ranking_by)
{
	return json_pack("{s:o*, s:s, s:[{s:i}, {s:i}, {s:i}]}", "work", work_take, "ranking_by", ranking_by, "benchmarks",
		"n", 1, "n", 10, "n", 100);
}

static bool
near(double a, double b)
{
	return fabs(a - b) <= b * 1e-12;
}

static void
test_score(void **state)
{
	(void)state;
	AUTO_JSON json_t *last = task_with(json_pack("{s:s}", "bytes", "1000 * n"), "last"),
					 *mean = task_with(json_pack("{s:s}", "bytes", "1000 * n"), "mean"),
					 *geom = task_with(json_pack("{s:s}", "bytes", "1000 * n"), "geom");
	assert_true(near(limit_of_score(last, &both), 1e-4));
	assert_true(near(limit_of_score(mean, &both), 37e-6));
	assert_true(near(limit_of_score(geom, &both), 1e-5));
	assert_true(near(limit_of_benchmark(last, 1, &both), 1e-5));
	/* The greater of both times. */
	AUTO_JSON json_t *two = task_with(json_pack("{s:s, s:s}", "bytes", "1000", "operations", "10000 * n * n"), "mean");
	assert_true(near(limit_of_benchmark(two, 0, &both), 1e-6));
	assert_true(near(limit_of_benchmark(two, 2, &both), 1e-4));
	assert_true(near(limit_of_score(two, &both), (1e-6 + 1e-6 + 1e-4) / 3));
	/* A number in place of an expression. */
	AUTO_JSON json_t *plain = task_with(json_pack("{s:i}", "bytes", 5000), "last");
	assert_true(near(limit_of_score(plain, &both), 5e-6));
}

/* One peak is enough, if the task states that work; without either nothing is known. */
static void
test_unknown(void **state)
{
	(void)state;
	AUTO_JSON json_t *bytes = task_with(json_pack("{s:s}", "bytes", "n"), "geom"), *stated = task_with(NULL, "last");
	const struct limit_peak operations = {.operations = 1e12};
	assert_true(limit_of_score(bytes, &none) == 0 && limit_of_score(bytes, &operations) == 0);
	assert_true(limit_of_score(stated, &both) == 0 && limit_of_score(NULL, &both) == 0);
	AUTO_JSON json_t *device = json_pack("{s:{s:f}}", "peak", "bytes", 2e9);
	struct limit_peak peak = limit_peak_of(device);
	assert_true(peak.bytes == 2e9 && peak.operations == 0);
	peak = limit_peak_of(NULL);
	assert_true(peak.bytes == 0 && limit_of_run(bytes, NULL, &both) == NULL);
}

static void
test_run(void **state)
{
	(void)state;
	AUTO_JSON json_t *result = json_pack(
		"{s:s, s:s, s:s}", "benchmark.0.mean", "200000", "benchmark.1.mean", "20000", "benchmark.2.mean", "0.001");
	AUTO_JSON json_t *last = task_with(json_pack("{s:s}", "bytes", "1000 * n"), "last"),
					 *mean = task_with(json_pack("{s:s}", "bytes", "1000 * n"), "mean");
	/* A run of the last benchmark alone has it as its first; a time that is none ends the list. */
	AUTO_JSON json_t *one = limit_of_run(last, result, &both), *two = limit_of_run(mean, result, &both);
	assert_int_equal(json_array_size(one), 1);
	assert_true(near(json_number_value(json_at(one, "0.limit", 7)), 1e-4));
	assert_true(near(json_number_value(json_at(one, "0.share", 7)), 0.5));
	assert_int_equal(json_array_size(two), 2);
	assert_true(near(json_number_value(json_at(two, "1.share", 7)), 0.5));
	assert_null(limit_of_run(last, result, &none));
}

static void
test_check(void **state)
{
	(void)state;
	static const char *const bad[] = {
		"0", "n - 10", "n / 100", "1 / (n - 10)", "k", "n +", "100000000000000000000000 * n"};
	const char *key = NULL;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct kettle_error err = {0};
		AUTO_JSON json_t *task = task_with(json_pack("{s:s, s:s}", "bytes", "n", "operations", bad[i]), "last");
		assert_int_equal(limit_check(task, &key, &err), KETTLE_EINVAL);
		assert_string_equal(key, "operations");
		assert_sentence(err.message);
	}
	AUTO_JSON json_t *good = task_with(json_pack("{s:s, s:I}", "bytes", "n", "operations", (json_int_t)1), "last"),
					 *stated = task_with(NULL, "last");
	assert_int_equal(limit_check(good, &key, NULL), 0);
	assert_int_equal(limit_check(stated, &key, NULL), 0);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_score),
	cmocka_unit_test(test_unknown),
	cmocka_unit_test(test_run),
	cmocka_unit_test(test_check),
};

UNIT_TESTS(test_limit);
