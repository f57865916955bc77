/* SPDX-License-Identifier: MIT */
/* The argument vectors for sbatch: what units say reaches it as one argument each. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/json_access.h"
#include "lib/unit_test.h"
#include "runners/slurm/slurm_internal.h"

static json_t *
unit(const char *text)
{
	json_t *json = json_loads(text, 0, NULL);
	assert_non_null(json);
	return json;
}

static bool
has(const struct arguments *arguments, const char *wanted)
{
	for (size_t i = 0; i < arguments->count; i++)
		if (strcmp(arguments->list[i], wanted) == 0)
			return true;
	return false;
}

static void
test_vector(void **state)
{
	(void)state;
	AUTO_JSON json_t *json = unit(
		"{\"options\": {\"partition\": \"gpu; rm -rf /\", \"gres\": \"gpu:h100:1\", \"constraint\": \"a&b\", "
		"\"account\": \"lab\","
		" \"memory_mb\": 1000, \"time_min\": 7, \"cores\": 3, \"flags\": [\"--qos=short run\", \"--exclusive\"]}}");
	const struct sbatch_request request = {.sbatch = "/opt/slurm/bin/sbatch",
		.unit = json,
		.name = "kettle-1f0c9a3e-12.1",
		.output = "/shared/a b/log",
		.minutes = slurm_unit_minutes(json, 1000)};
	AUTO_ARGUMENTS struct arguments arguments = {0};
	sbatch_arguments(&request, &arguments);
	static const char *const wanted[] = {"--parsable", "--job-name=kettle-1f0c9a3e-12.1", "--partition=gpu; rm -rf /",
		"--gres=gpu:h100:1", "--constraint=a&b", "--account=lab", "--mem=1000M", "--time=7", "--cpus-per-task=3",
		"--qos=short run", "--exclusive", "--no-requeue", "--output=/shared/a b/log"};
	assert_string_equal(arguments.list[0], "/opt/slurm/bin/sbatch");
	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++)
		if (!has(&arguments, wanted[i]))
			fail_msg("%s is missing", wanted[i]);
	assert_null(arguments.list[arguments.count]);
	for (size_t i = 0; i < arguments.count; i++)
		assert_null(strstr(arguments.list[i], "--array"));
}

static void
test_array(void **state)
{
	(void)state;
	AUTO_JSON json_t *json = unit("{}");
	const struct sbatch_request request = {
		.sbatch = "sbatch", .unit = json, .name = "n", .output = "o", .tasks = 500, .minutes = 1};
	AUTO_ARGUMENTS struct arguments arguments = {0};
	sbatch_arguments(&request, &arguments);
	assert_true(has(&arguments, "--array=0-499"));
	assert_true(has(&arguments, "--mem=8192M"));
	assert_true(has(&arguments, "--cpus-per-task=2"));
}

static void
test_sizes(void **state)
{
	(void)state;
	AUTO_JSON json_t *none =
		unit("{\"slots\": 200, \"prefetch\": 1, \"runner_slots\": 200, \"gpu\": 0, \"name\": \"H100\"}");
	AUTO_JSON json_t *said = unit("{\"memory\": 4294967296}"), *small = unit("{\"options\": {\"memory_mb\": 600}}");
	assert_int_equal(slurm_unit_memory_mb(none), 8192);
	assert_int_equal(slurm_unit_memory_mb(said), 5120);
	assert_int_equal(slurm_unit_minutes(none, 0), 60);
	assert_int_equal(slurm_unit_minutes(none, 1), 4);
	assert_int_equal(slurm_unit_minutes(none, 600000), 13);
	assert_int_equal(slurm_unit_minutes(none, UINT64_MAX / 2), 525600);
	AUTO_JSON json_t *on_node = slurm_unit_on_node(none), *kept = slurm_unit_on_node(said),
					 *tight = slurm_unit_on_node(small);
	assert_null(json_object_get(on_node, "slots"));
	assert_null(json_object_get(on_node, "runner_slots"));
	assert_int_equal(member_int(on_node, "gpu"), 0);
	assert_string_equal(json_text_or_empty(on_node, "name"), "H100");
	assert_true(member_int(on_node, "memory") == (json_int_t)(8192 - 512) << 20);
	assert_true(member_int(kept, "memory") == 4294967296);
	assert_true(member_int(tight, "memory") == (json_int_t)300 << 20);
	assert_non_null(json_object_get(none, "slots"));
}

static void
test_flags(void **state)
{
	(void)state;
	static const char *const wrong[] = {"-J x", "--", "x", "--array=1-3", "--arr=1", "--job-name=x", "--wait",
		"--export=ALL", "--requeue", "--output", "--=x", "--wrap=x", "--parsable", "--time=9:00:00", "--tim=1",
		"--help", "--version"};
	static const char *const right[] = {"--qos=short", "--time-min=1", "--exclusive", "--nice", "--wait-all-nodes=1",
		"--reservation=r", "--nodelist=a[1-3]", "--exclude=b"};
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		AUTO_JSON json_t *json = json_pack("{s:{s:[s, s]}}", "options", "flags", "--nice", wrong[i]);
		struct kettle_error err = {0};
		if (slurm_unit_check(json, &err) != KETTLE_EINVAL)
			fail_msg("%s is accepted", wrong[i]);
		assert_non_null(strstr(err.message, wrong[i]));
	}
	for (size_t i = 0; i < ARRAY_SIZE(right); i++) {
		AUTO_JSON json_t *json = json_pack("{s:{s:[s]}}", "options", "flags", right[i]);
		struct kettle_error err = {0};
		if (slurm_unit_check(json, &err) != 0)
			fail_msg("%s: %s", right[i], err.message);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_vector),
	cmocka_unit_test(test_array),
	cmocka_unit_test(test_sizes),
	cmocka_unit_test(test_flags),
};

UNIT_TESTS(test_slurm_arguments);
