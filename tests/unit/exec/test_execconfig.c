/* SPDX-License-Identifier: MIT */
/* exec.yml, lists of cores, limits. */
#include <config.h>

#include <string.h>

#include "base/cleanup.h"
#include "base/schema.h"
#include "exec/machine/machine.h"
#include "lib/unit_test.h"
#include "unit/scratch.h"

extern const char exec_schema_text[], plan_schema_text[];

static void
reads_cores(void **state)
{
	(void)state;
	static const struct {
		const char *text, *wanted; /* NULL: refused */
	} cases[] = {{"1", "1"}, {"2-3,6", "2,3,6"}, {"6,2-3,2", "2,3,6"}, {"0-0", "0"}, {"", NULL}, {"1,", NULL},
		{"-1", NULL}, {"3-2", NULL}, {"1 2", NULL}, {"a", NULL}, {"1024", NULL}, {"99999999999999999999", NULL},
		{"1-", NULL}};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct cores cores = {0};
		struct kettle_error err = {0};
		int rc = cores_parse(cases[i].text, &cores, &err);
		AUTO_FREE char *text = rc == 0 ? cores_text(&cores) : NULL;
		assert_int_equal(rc, cases[i].wanted ? 0 : KETTLE_EINVAL);
		if (cases[i].wanted)
			assert_string_equal(text, cases[i].wanted);
		else
			assert_non_null(strstr(err.message, "not a list of cores"));
		cores_free(&cores);
	}
}

static void
subtracts_cores(void **state)
{
	(void)state;
	struct cores all = {0}, some = {0}, left = {0};
	assert_int_equal(cores_parse("0-3", &all, NULL), 0);
	assert_int_equal(cores_parse("1,2", &some, NULL), 0);
	left = cores_without(&all, &some);
	AUTO_FREE char *text = cores_text(&left);
	assert_string_equal(text, "0,3");
	cores_free(&left);
	/* Nothing would be left: then all. */
	left = cores_without(&some, &all);
	assert_int_equal(left.count, 2);
	cores_free(&left);
	cores_free(&all);
	cores_free(&some);
}

/* The time of idle cores, of all those named. */
static void
counts_idle_time(void **state)
{
	(void)state;
	static const char stat[] = "cpu  1 2 3 4 5 6 7 8 9 10\ncpu0 100 0 50 700 30 0 1 0 0 0\ncpu1 9 9 9 11 0 0 0 0 0 0\n"
							   "cpu12 9 9 9 1000 1 0 0 0 0 0\nintr 5 cpu1 1 1 1 1 1\nbtime 17\n";
	static const struct {
		const char *cores;
		bool known;
		uint64_t ticks;
	} cases[] = {
		{"0", true, 730}, {"1", true, 11}, {"0-1", true, 741}, {"12", true, 1001}, {"2", false, 0}, {"0,2", false, 0}};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct cores cores = {0};
		uint64_t ticks = 0;
		assert_int_equal(cores_parse(cases[i].cores, &cores, NULL), 0);
		assert_int_equal(cores_idle_ticks(&cores, stat, &ticks), cases[i].known);
		assert_int_equal(ticks, cases[i].ticks);
		cores_free(&cores);
	}
}

static void
combines_limits(void **state)
{
	(void)state;
	struct limits limits = limits_default(STEP_BUILD, 1),
				  max = {.wall = LIMITS_SECOND, .cpu = LIMITS_SECOND, .memory = 1u << 20};
	assert_int_equal(limits.wall, 180 * LIMITS_SECOND);
	assert_int_equal(limits.cpu, 300 * LIMITS_SECOND);
	assert_int_equal(limits.processes, 256);
	AUTO_JSON json_t *object = json_pack("{s:f, s:i}", "wall", 0.25, "processes", 7);
	limits_apply(&limits, object);
	assert_int_equal(limits.wall, LIMITS_SECOND / 4);
	assert_int_equal(limits.processes, 7);
	limits_cap(&limits, &max);
	assert_int_equal(limits.wall, LIMITS_SECOND / 4);
	assert_int_equal(limits.cpu, LIMITS_SECOND);
	assert_int_equal(limits.memory, 1u << 20);
	assert_int_equal(limits.processes, 7);
	limits_apply(&limits, NULL);
	assert_int_equal(limits.processes, 7);
	assert_true(limits_named(&limits, "wall") == 0.25);
	assert_true(limits_named(&limits, "memory") == (double)(1u << 20));
	assert_true(limits_named(&limits, "nonsense") == 0);
}

/* What builds do not need, and three quarters of a small machine. */
static void
shares_memory(void **state)
{
	(void)state;
	const struct execconfig large = {.memory = 25 * LIMITS_GIB, .build_jobs = 2},
							small = {.memory = 2 * LIMITS_GIB, .build_jobs = 2}, unknown = {.build_jobs = 2};
	assert_true(execconfig_run_memory(&large, 1) == 20 * LIMITS_GIB);
	assert_true(execconfig_run_memory(&large, 4) == 5 * LIMITS_GIB);
	assert_true(execconfig_run_memory(&small, 1) == 3 * LIMITS_GIB / 2);
	assert_true(execconfig_run_memory(&unknown, 1) == 3 * LIMITS_GIB);
}

static void
reads_a_file(void **state)
{
	(void)state;
	char *dir = scratch_make();
	AUTO_FREE char *path = scratch_write(dir, "exec.yml",
		"tools: {nvcc: /opt/cuda/bin/nvcc}\nenv: {nvcc: {CUDA_HOME: /opt/cuda}}\nread: [/opt/venv]\nwarm: {copies: 7}\n"
		"state: /s\nlocks: /l\nbuild: {cores: \"0\", jobs: 3}\ncache: {max_bytes: 80, max_age_days: 6}\n"
		"io: {bytes: 0}\n"
		"limits: {memory: 2097152, wall: 7}\nlevel: reduced\n");
	struct execconfig config;
	struct kettle_error err = {0};
	if (execconfig_load(&config, path, NULL, NULL, NULL, &err) != 0)
		fail_msg("%s", err.message);
	assert_string_equal(json_string_value(json_object_get(config.tools, "nvcc")), "/opt/cuda/bin/nvcc");
	/* By its name until 0.1, and by the one that it has. */
	assert_string_equal(json_string_value(json_array_get(config.extra_paths, 0)), "/opt/venv");
	assert_int_equal(json_integer_value(json_object_get(json_object_get(config.root, "warm"), "max_forks")), 7);
	assert_string_equal(config.state, "/s");
	assert_string_equal(config.locks, "/l");
	assert_int_equal(config.build_jobs, 3);
	assert_int_equal(config.build_cores.count, 1);
	assert_int_equal(config.cache_max_bytes, 80);
	assert_int_equal(config.cache_max_user_bytes, 10);
	assert_int_equal(config.cache_max_age_days, 6);
	assert_int_equal(config.io_bytes, 0);
	assert_int_equal(config.io_operations, EXECCONFIG_IO_OPERATIONS);
	assert_int_equal(config.max.memory, 2097152);
	assert_int_equal(config.max.wall, 7 * LIMITS_SECOND);
	assert_int_equal(config.max.processes, EXECCONFIG_MAX_PROCESSES);
	assert_int_equal(config.level, SANDBOX_LEVEL_REDUCED);
	execconfig_close(&config);
	/* The command line wins; a relative folder is made absolute. */
	assert_int_equal(execconfig_load(&config, path, "{\"build\": {\"jobs\": 9}}", "here", "off", &err), 0);
	assert_int_equal(config.state[0], '/');
	assert_non_null(strstr(config.state, "/here"));
	assert_int_equal(config.level, SANDBOX_LEVEL_OFF);
	assert_int_equal(config.build_jobs, 9);
	assert_string_equal(config.locks, "/l");
	assert_int_equal(json_array_size(config.extra_paths), 1);
	execconfig_close(&config);
	/* But its paths are added to the file's, each once. */
	assert_int_equal(
		execconfig_load(&config, path, "{\"extra_paths\": [\"/b\", \"/opt/venv\", \"/a\"]}", NULL, NULL, &err), 0);
	AUTO_FREE char *paths = json_dumps(config.extra_paths, JSON_COMPACT);
	assert_string_equal(paths, "[\"/opt/venv\",\"/b\",\"/a\"]");
	execconfig_close(&config);
	assert_int_equal(execconfig_load(&config, path, "{\"extra_paths\": []}", NULL, NULL, &err), 0);
	assert_int_equal(json_array_size(config.extra_paths), 1);
	execconfig_close(&config);
	assert_int_equal(execconfig_load(&config, path, "{\"bild\": {}}", NULL, NULL, &err), KETTLE_EINVAL);
	assert_non_null(strstr(err.message, "--settings: "));
	execconfig_close(&config);
	assert_int_equal(execconfig_load(&config, path, "[", NULL, NULL, &err), KETTLE_EINVAL);
	execconfig_close(&config);
	scratch_remove(dir);
}

static void
refuses_bad_files(void **state)
{
	(void)state;
	static const struct {
		const char *text, *why;
	} cases[] = {{"tool: {}\n", ":1:1: "}, {"level: full\nlevels: x\n", ":2:1: "}, {"build: {jobs: 0}\n", "jobs"},
		{"build: {cores: \"x\"}\n", "list of cores"}, {"state: here\n", "state"}, {"level: iron\n", "level"},
		{"extra_paths: /opt\n", "extra_paths"}, {"level: full\nread: /opt\n", ":2:7: "},
		{"read: []\nextra_paths: []\n", ":1:1: "}, {"- a\n", ""}, {"a: b: c\n", ""}};
	char *dir = scratch_make();
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO_FREE char *path = scratch_write(dir, "exec.yml", cases[i].text);
		struct execconfig config;
		struct kettle_error err = {0};
		assert_int_equal(execconfig_load(&config, path, NULL, NULL, NULL, &err), KETTLE_EINVAL);
		assert_non_null(strstr(err.message, cases[i].why));
		execconfig_close(&config);
	}
	AUTO_FREE char *empty = scratch_write(dir, "exec.yml", "# nothing\n");
	struct execconfig config;
	assert_int_equal(execconfig_load(&config, empty, NULL, dir, NULL, NULL), 0);
	execconfig_close(&config);
	struct kettle_error err = {0};
	assert_int_equal(execconfig_load(&config, empty, NULL, "/tmp/\xff", NULL, &err), KETTLE_EINVAL);
	assert_non_null(strstr(err.message, "not UTF-8 text"));
	execconfig_close(&config);
	AUTO_FREE char *absent = path_join(dir, "absent.yml");
	assert_int_equal(execconfig_load(&config, absent, NULL, NULL, NULL, NULL), KETTLE_ENOENT);
	execconfig_close(&config);
	scratch_remove(dir);
}

/* The program reads them by schema_own. */
static void
has_sound_schemas(void **state)
{
	(void)state;
	AUTO_JSON json_t *settings = NULL, *plan = NULL;
	assert_int_equal(schema_load(exec_schema_text, &settings, NULL), 0);
	assert_int_equal(schema_load(plan_schema_text, &plan, NULL), 0);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(has_sound_schemas),
	cmocka_unit_test(reads_cores),
	cmocka_unit_test(subtracts_cores),
	cmocka_unit_test(combines_limits),
	cmocka_unit_test(shares_memory),
	cmocka_unit_test(counts_idle_time),
	cmocka_unit_test(reads_a_file),
	cmocka_unit_test(refuses_bad_files),
};

UNIT_TESTS(test_execconfig);
