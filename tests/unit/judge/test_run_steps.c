/* SPDX-License-Identifier: MIT */
/* Run steps: which of them a mode has, what the cases file says, and where the secret goes. */
#include <config.h>

#include "judge/run_steps.h"

#include <string.h>

#include "base/cleanup.h"
#include "judge/capture.h"
#include "lib/unit_test.h"

static const char task_text[] =
	"{\"files\": [{\"name\": \"s.py\", \"source\": \"@SUBMISSION@\"}], \"ranking_by\": \"geom\", \"multi_gpu\": false,"
	" \"test_timeout\": 180, \"benchmark_timeout\": 200.5, \"ranked_timeout\": 300,"
	" \"tests\": [{\"n\": 1, \"stable\": true}, {\"shape\": [1, -2], \"empty\": [], \"order\": \"down_2\"}],"
	" \"benchmarks\": [{\"n\": 2}, {\"n\": 9007199254740993, \"stable\": false}]}";

static json_t *
make_task(void)
{
	json_t *task = json_loads(task_text, 0, NULL);
	assert_non_null(task);
	return task;
}

static json_t *
make_runs(const json_t *task, const char *mode, const char *seed)
{
	json_t *runs = NULL;
	struct kettle_error err = {0};
	if (run_steps_make(task, mode, seed, NULL, NULL, &runs, &err))
		fail_msg("%s", err.message);
	return runs;
}

static const char *
text_at(const json_t *value, const char *key)
{
	return json_string_value(json_object_get(value, key));
}

static const char *
cases_of(const json_t *runs, size_t index)
{
	return text_at(json_object_get(json_array_get(runs, index), "cases"), "text");
}

static void
test_ranked(void **state)
{
	(void)state;
	static const char *const ids[] = {
		"test", "benchmark", "leaderboard", "secret-test", "secret-benchmark", "secret-leaderboard"};
	static const double walls[] = {180, 200.5, 300};
	AUTO_JSON json_t *task = make_task(), *runs = make_runs(task, "ranked", "2147483647");
	assert_int_equal(json_array_size(runs), ARRAY_SIZE(ids));
	for (size_t i = 0; i < ARRAY_SIZE(ids); i++) {
		const json_t *run = json_array_get(runs, i), *needs = json_object_get(run, "needs");
		const json_t *which = json_object_get(run, "run");
		assert_string_equal(text_at(run, "id"), ids[i]);
		assert_string_equal(text_at(run, "kind"), "run");
		assert_int_equal(json_array_size(needs), i ? 1 : 0);
		if (i)
			assert_string_equal(json_string_value(json_array_get(needs, 0)), ids[i - 1]);
		assert_string_equal(text_at(which, "mode"), ids[i % 3]);
		assert_int_equal(json_is_true(json_object_get(which, "secret")), i >= 3);
		const char *seed = text_at(json_object_get(run, "secret"), "POPCORN_SEED");
		assert_true(i < 3 ? seed == NULL : strcmp(seed, "2147483647") == 0);
		const char *key = text_at(json_object_get(run, "secret"), "KETTLE_SECRET");
		assert_true(i < 3 ? key == NULL : strlen(key) == 32 && strspn(key, "0123456789abcdef") == 32);
		assert_true(
			i < 4 || strcmp(key, text_at(json_object_get(json_array_get(runs, 3), "secret"), "KETTLE_SECRET")) == 0);
		assert_true(json_number_value(json_object_get(json_object_get(run, "limits"), "wall")) == walls[i % 3]);
		assert_string_equal(text_at(run, "result"), "POPCORN_FD");
		assert_int_equal(json_integer_value(json_object_get(run, "device")), 1);
		assert_null(json_object_get(run, "env"));
	}
}

/* Each job draws its own. */
static void
test_secret(void **state)
{
	(void)state;
	AUTO_JSON json_t *task = make_task(), *one = make_runs(task, "ranked", "1"), *two = make_runs(task, "ranked", "1");
	const json_t *first = json_object_get(json_array_get(one, 3), "secret");
	const json_t *second = json_object_get(json_array_get(two, 3), "secret");
	assert_string_not_equal(text_at(first, "KETTLE_SECRET"), text_at(second, "KETTLE_SECRET"));
}

static void
test_cases(void **state)
{
	(void)state;
	AUTO_JSON json_t *task = make_task(), *runs = make_runs(task, "ranked", "1");
	assert_string_equal(cases_of(runs, 0), "n: 1; stable: True\nshape: [1, -2]; empty: []; order: down_2\n");
	assert_string_equal(cases_of(runs, 1), "n: 2\nn: 9007199254740993; stable: False\n");
	assert_string_equal(cases_of(runs, 2), cases_of(runs, 5));
	const json_t *args = json_object_get(json_object_get(json_array_get(runs, 4), "run"), "args");
	assert_string_equal(json_string_value(json_array_get(args, 0)), "benchmark");
	assert_string_equal(json_string_value(json_array_get(args, 1)), "cases.txt");
}

/* ranking_by: last leaves the last benchmark alone, but in a profile every one has its run. */
static void
test_last(void **state)
{
	(void)state;
	AUTO_JSON json_t *task = make_task();
	json_object_set_new(task, "ranking_by", json_string("last"));
	AUTO_JSON json_t *runs = make_runs(task, "ranked", "1"), *alone = make_runs(task, "benchmark", NULL);
	AUTO_JSON json_t *profile = make_runs(task, "profile", NULL);
	assert_string_equal(cases_of(runs, 1), "n: 9007199254740993; stable: False\n");
	assert_string_equal(cases_of(runs, 2), cases_of(runs, 1));
	assert_string_equal(cases_of(alone, 0), cases_of(runs, 1));
	assert_int_equal(json_array_size(profile), 2);
	assert_string_equal(cases_of(profile, 0), "n: 2\n");
	assert_string_equal(text_at(json_array_get(profile, 1), "id"), "profile-1");
	const json_t *which = json_object_get(json_array_get(profile, 1), "run");
	assert_int_equal(json_integer_value(json_object_get(which, "index")), 1);
}

/* A profile of some benchmarks keeps their indexes; each run says which launches are looked at. */
static void
test_capture(void **state)
{
	(void)state;
	AUTO_JSON json_t *task = make_task(), *runs = NULL, *other = NULL;
	AUTO_JSON json_t *args = json_pack("{s:[i, i], s:s, s:i}", "benchmark", 1, 1, "kernel", "regex:^add", "skip", 3);
	json_t *capture = NULL;
	struct kettle_error err = {0};
	assert_int_equal(capture_read(args, "profile", task, &capture, &err), 0);
	assert_int_equal(run_steps_make(task, "profile", NULL, NULL, capture, &runs, &err), 0);
	assert_int_equal(json_array_size(runs), 1);
	const json_t *run = json_array_get(runs, 0);
	assert_string_equal(text_at(run, "id"), "profile-1");
	assert_int_equal(json_integer_value(json_object_get(json_object_get(run, "run"), "index")), 1);
	AUTO_JSON json_t *wanted = json_pack("{s:s, s:i}", "kernel", "regex:^add", "skip", 3);
	assert_true(json_equal(json_object_get(run, "capture"), wanted));
	assert_int_equal(capture_fits("ncu", "X", wanted, &err), 0);
	assert_int_equal(capture_fits("rocprofv3", "X", wanted, &err), 0);
	assert_int_equal(capture_fits("perf", "CPU", wanted, &err), KETTLE_EINVAL);
	assert_string_equal(err.member, "kernel");
	assert_int_equal(capture_fits(NULL, "CPU", wanted, &err), KETTLE_EINVAL);
	assert_non_null(strstr(err.message, "the harness profiles itself"));
	json_decref(capture);
	/* A list alone is nothing that a profiler must know. */
	AUTO_JSON json_t *list = json_pack("{s:[i, i]}", "benchmark", 1, 0);
	assert_int_equal(capture_read(list, "profile", task, &capture, &err), 0);
	assert_int_equal(run_steps_make(task, "profile", NULL, NULL, capture, &other, &err), 0);
	assert_int_equal(json_array_size(other), 2);
	assert_null(json_object_get(json_array_get(other, 0), "capture"));
	json_decref(capture);
}

static void
test_capture_refuses(void **state)
{
	(void)state;
	static const struct {
		const char *mode, *args, *words;
	} bad[] = {
		{"ranked", "{'benchmark': [0]}", "set `mode` to profile"},
		{"test", "{'launches': 3}", "set `mode` to profile"},
		{"profile", "{'benchmark': [0, 2]}", "no benchmark 2: it has 2, numbered from 0"},
		{"profile", "{'kernel': ''}", "A kernel name"},
		{"profile", "{'kernel': '-o'}", "A kernel name"},
		{"profile", "{'kernel': 'a\\nb'}", "A kernel name"},
		{"profile", "{'kernel_base': 'mangled'}", "`kernel_base` requires"},
		{"profile", "{'launches': 0}", "launches"},
		{"profile", "{'launches': 100000}", "launches"},
		{"profile", "{'skip': -1}", "skip"},
	};
	AUTO_JSON json_t *task = make_task();
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		char text[80];
		struct kettle_error err = {0};
		json_t *capture = NULL;
		(void)snprintf(text, sizeof(text), "%s", bad[i].args);
		for (char *quote = text; (quote = strchr(quote, '\''));)
			*quote = '"';
		AUTO_JSON json_t *args = json_loads(text, 0, NULL);
		assert_int_equal(capture_read(args, bad[i].mode, task, &capture, &err), KETTLE_EINVAL);
		assert_null(capture);
		if (!strstr(err.message, bad[i].words))
			fail_msg("%s: %s", text, err.message);
	}
}

static void
test_devices(void **state)
{
	(void)state;
	AUTO_JSON json_t *task = make_task();
	json_object_set_new(task, "multi_gpu", json_true());
	json_object_set_new(task, "tests", json_pack("[{s:i}, {s:i}]", "world_size", 4, "world_size", 2));
	json_object_set_new(task, "benchmarks", json_pack("[{s:i}]", "world_size", 8));
	AUTO_JSON json_t *runs = make_runs(task, "ranked", "1");
	static const int devices[] = {4, 8, 8, 4, 8, 8};
	for (size_t i = 0; i < ARRAY_SIZE(devices); i++) {
		const json_t *run = json_array_get(runs, i);
		char text[8];
		(void)snprintf(text, sizeof(text), "%d", devices[i]);
		assert_int_equal(json_integer_value(json_object_get(run, "device")), devices[i]);
		assert_string_equal(text_at(json_object_get(run, "env"), "POPCORN_GPUS"), text);
	}
}

/* The cases file gives way to a file of the task that has its name. */
static void
test_name(void **state)
{
	(void)state;
	AUTO_JSON json_t *task = make_task();
	json_array_append_new(
		json_object_get(task, "files"), json_pack("{s:s, s:s}", "name", "cases.txt", "source", "cases.txt"));
	AUTO_JSON json_t *runs = make_runs(task, "test", NULL);
	assert_string_equal(text_at(json_object_get(json_array_get(runs, 0), "cases"), "name"), "kettle-cases.txt");
}

static void
expect_failure(const char *mode, const char *seed, const char *sentence)
{
	AUTO_JSON json_t *task = make_task();
	json_t *runs = NULL;
	struct kettle_error err = {0};
	assert_int_equal(run_steps_make(task, mode, seed, NULL, NULL, &runs, &err), KETTLE_EINVAL);
	assert_null(runs);
	assert_string_equal(err.message, sentence);
}

static void
test_refuses(void **state)
{
	(void)state;
	static const char no_seed[] = "A ranked job needs a secret seed: a decimal number below 2^31.";
	expect_failure("rank", NULL, "Unknown mode `rank`; use test, benchmark, profile or ranked.");
	expect_failure("ranked", NULL, no_seed);
	expect_failure("ranked", "", no_seed);
	expect_failure("ranked", "2147483648", no_seed);
	expect_failure("ranked", "-1", no_seed);
	expect_failure("ranked", "1\nPATH=x", no_seed);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_ranked),
	cmocka_unit_test(test_secret),
	cmocka_unit_test(test_cases),
	cmocka_unit_test(test_last),
	cmocka_unit_test(test_capture),
	cmocka_unit_test(test_capture_refuses),
	cmocka_unit_test(test_devices),
	cmocka_unit_test(test_name),
	cmocka_unit_test(test_refuses),
};

UNIT_TESTS(test_run_steps);
