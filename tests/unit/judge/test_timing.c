/* SPDX-License-Identifier: MIT */
/* Where time went: steps side by side count once, nothing of a secret run, no clock compared with another one. */
#include <config.h>

#include "judge/timing.h"

#include <stdio.h>

#include "base/cleanup.h"
#include "lib/unit_test.h"

static json_t *
outcome(const char *step, const char *kind, int begun, int queued, int launched, int start, int wall, int ended)
{
	return json_pack("{s:s, s:s, s:b, s:i, s:i, s:{s:i, s:i, s:i, s:i}}", "step", step, "kind", kind, "cached",
		launched == 0, "start_ns", start, "wall_ns", wall, "stamps", "begun_ns", begun, "queued_ns", queued,
		"launched_ns", launched, "ended_ns", ended);
}

static json_t *
completion(json_t *outcomes_take)
{
	return json_pack("{s:s, s:{s:i, s:i}, s:o}", "status", "done", "stamps", "received_ns", 1000, "done_ns", 2000,
		"outcomes", outcomes_take);
}

/* The timing of that completion. */
static json_t *
timing_from(json_t *completion_json, const struct timing_stamps *stamps)
{
	AUTO_PLAN struct plan *plan = plan_read(json_pack("{s:[{s:s, s:s}, {s:s}, {s:s, s:{s:b}}, {s:s, s:{s:b}}]}",
		"steps", "id", "one", "title", "compile submission.cpp", "id", "two", "id", "test", "run", "secret", 0, "id",
		"hidden", "run", "secret", 1));
	AUTO_COMPLETION struct completion read = completion_read(completion_json);
	return timing_of(plan, &read, stamps);
}

static void
assert_part(const json_t *timing, const char *key, json_int_t ns)
{
	const json_t *value = json_object_get(json_object_get(timing, "parts"), key);
	if (json_integer_value(value) != ns || !value)
		fail_msg("%s is %lld", key, value ? (long long)json_integer_value(value) : -1);
}

/* Two builds side by side, one of them out of the cache, then a public and a secret run. */
static void
test_parts(void **state)
{
	(void)state;
	AUTO_JSON json_t *made =
		completion(json_pack("[o, o, o, o]", outcome("one", "build", 1010, 1020, 1030, 1035, 60, 1100),
			outcome("two", "build", 1010, 0, 0, 0, 0, 1040), outcome("test", "run", 1100, 1110, 1150, 1160, 300, 1480),
			outcome("hidden", "run", 1500, 1500, 1500, 1510, 400, 1990)));
	AUTO_JSON json_t *timing = timing_from(made, NULL);
	/* While one waits, the other one still works. */
	assert_part(timing, "build_ns", 90);
	assert_part(timing, "wait_ns", 40);
	assert_part(timing, "start_ns", 10 + 10);
	assert_part(timing, "run_ns", 300);
	assert_part(timing, "collect_ns", 20);
	assert_part(timing, "prepare_ns", 0);
	/* The secret run is in no part, not even in what is left. */
	assert_part(timing, "other_ns", 1000 - 90 - 40 - 20 - 300 - 20 - (1990 - 1500));
	const json_t *listed = json_object_get(timing, "steps"), *test = json_array_get(listed, 2);
	assert_int_equal(json_array_size(listed), 3);
	assert_string_equal(json_string_value(json_object_get(test, "step")), "test");
	assert_string_equal(
		json_string_value(json_object_get(json_array_get(listed, 0), "title")), "compile submission.cpp");
	assert_null(json_object_get(test, "title"));
	assert_int_equal(json_integer_value(json_object_get(test, "at_ns")), 100);
	assert_int_equal(json_integer_value(json_object_get(test, "wait_ns")), 40);
	assert_int_equal(json_integer_value(json_object_get(test, "total_ns")), 380);
	assert_true(json_is_true(json_object_get(json_array_get(listed, 1), "cached")));
}

/* What compilers took is no part of the rest of the run, and never more than the run. */
static void
test_compilers(void **state)
{
	(void)state;
	static const int told[] = {100, 5000, -5};
	for (size_t i = 0; i < ARRAY_SIZE(told); i++) {
		json_t *test = outcome("test", "run", 1100, 1110, 1150, 1160, 300, 1480);
		int compile = told[i] < 0 ? 0 : told[i] < 300 ? told[i] : 300;
		json_object_set_new(test, "jit", json_pack("{s:i}", "compile_ns", told[i]));
		AUTO_JSON json_t *made = completion(json_pack("[o]", test));
		AUTO_JSON json_t *timing = timing_from(made, NULL);
		assert_part(timing, "compile_ns", compile);
		assert_part(timing, "run_ns", 300 - compile);
		assert_int_equal(
			json_integer_value(json_object_get(json_array_get(json_object_get(timing, "steps"), 0), "run_ns")), 300);
	}
}

/* What never began, what never ran, and stamps that cannot be. */
static void
test_odd_steps(void **state)
{
	(void)state;
	AUTO_JSON json_t *made = completion(json_pack("[o, o, o, {}]", outcome("one", "build", 0, 0, 0, 0, 0, 1500),
		outcome("two", "prepare", 1, 1200, 1200, 0, 0, 9000), outcome("test", "run", 1900, 1100, 1800, 1300, 5, 1200)));
	AUTO_JSON json_t *timing = timing_from(made, NULL);
	assert_part(timing, "prepare_ns", 1000 - 5);
	assert_part(timing, "run_ns", 5);
	assert_part(timing, "other_ns", 0);
	assert_int_equal(json_array_size(json_object_get(timing, "steps")), 2);
	AUTO_JSON json_t *nothing = json_object(), *empty = timing_from(nothing, NULL);
	assert_int_equal(json_object_size(json_object_get(empty, "parts")), 0);
	assert_int_equal(json_array_size(json_object_get(empty, "steps")), 0);
}

static void
test_engine(void **state)
{
	(void)state;
	struct timing_stamps stamps = {.accepted_ns = 10, .queued_ns = 10, .started_ns = 40, .submitted_ns = 90};
	stamps.completed_ns = 90 + 1000 + 7;
	AUTO_JSON json_t *made = completion(json_array()), *timing = timing_from(made, &stamps);
	assert_part(timing, "queue_ns", 30);
	assert_part(timing, "plan_ns", 50);
	assert_part(timing, "transfer_ns", 7);
	assert_null(json_object_get(json_object_get(timing, "parts"), "earlier_ns"));
	/* A second attempt, by a runner without stamps. */
	stamps.queued_ns = 25;
	AUTO_JSON json_t *bare = json_object(), *without = timing_from(bare, &stamps);
	assert_part(without, "earlier_ns", 15);
	assert_part(without, "other_ns", 1007);
	assert_null(json_object_get(json_object_get(without, "parts"), "transfer_ns"));
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_parts),
	cmocka_unit_test(test_compilers),
	cmocka_unit_test(test_odd_steps),
	cmocka_unit_test(test_engine),
};

UNIT_TESTS(test_timing);
