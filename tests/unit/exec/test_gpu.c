/* SPDX-License-Identifier: MIT */
/* What readings of GPUs tell: which one is meant, what slowed it, what its sandbox is given. */
#include <config.h>

#include "exec/machine/machine.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "lib/unit_test.h"

/* Two of NVIDIA's, two of AMD's. */
static json_t *
machine(void)
{
	return json_loads("{\"errors\": [], \"gpus\": ["
					  "{\"vendor\": \"nvidia\", \"index\": 0, \"uuid\": \"GPU-aa\", \"minor\": 4, \"used\": 100},"
					  "{\"vendor\": \"nvidia\", \"index\": 1, \"uuid\": \"GPU-bb\", \"minor\": 5, \"used\": 200},"
					  "{\"vendor\": \"amd\", \"index\": 2, \"uuid\": \"GPU-cc\", \"render\": 128},"
					  "{\"vendor\": \"amd\", \"index\": 3, \"render\": 129}]}",
		0, NULL);
}

static void
test_find(void **state)
{
	(void)state;
	AUTO_JSON json_t *reading = machine();
	assert_int_equal(gpu_find(reading, "1").minor, 5);
	assert_int_equal(gpu_find(reading, "gpu-AA").minor, 4);
	assert_null(gpu_find(reading, "4").json);
	assert_null(gpu_find(reading, "01").json);
	assert_null(gpu_find(NULL, "0").json);
	struct kettle_error err = {0};
	assert_int_equal(gpu_missing(reading, "9", &err), KETTLE_EUNAVAIL);
	assert_string_equal(err.message, "GPU 9 was not found; this machine's drivers report 4.");
}

static void
environment(const char *gpus_text, const char *cuda, const char *rocr, const char *hip)
{
	AUTO_JSON json_t *reading = machine();
	AUTO_JSON json_t *list = json_loads(gpus_text, 0, NULL);
	AUTO_STRINGS struct strings gpus = {0};
	AUTO_JSON json_t *env = json_object();
	const struct {
		const char *name, *value;
	} wanted[] = {{"CUDA_VISIBLE_DEVICES", cuda}, {"ROCR_VISIBLE_DEVICES", rocr}, {"HIP_VISIBLE_DEVICES", hip}};
	strings_read(&gpus, list);
	gpu_nodes_environment(reading, &gpus, env);
	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++) {
		const char *value = json_string_value(json_object_get(env, wanted[i].name));
		assert_true((value == NULL) == (wanted[i].value == NULL));
		if (value)
			assert_string_equal(value, wanted[i].value);
	}
}

static void
test_environment(void **state)
{
	(void)state;
	environment("[]", NULL, NULL, NULL);
	environment("[\"1\"]", "GPU-bb", NULL, NULL);
	environment("[\"1\", \"GPU-aa\"]", "GPU-bb,GPU-aa", NULL, NULL);
	environment("[\"2\", \"3\"]", NULL, "GPU-cc,3", "0,1");
	/* Of one that no driver knows, CUDA counts what the sandbox has. */
	environment("[\"7\", \"8\"]", "0,1", NULL, NULL);
	environment("[\"GPU-zz\"]", "GPU-zz", NULL, NULL);
}

static void
test_folders(void **state)
{
	(void)state;
	AUTO_JSON json_t *reading = machine();
	AUTO_STRINGS struct strings gpus = {0};
	AUTO_STRINGS struct strings folders = {0};
	strings_add(&gpus, "0");
	gpu_nodes_folders(reading, &gpus, &folders);
	assert_int_equal(folders.count, 0);
	strings_add(&gpus, "3");
	gpu_nodes_folders(reading, &gpus, &folders);
	assert_string_equal(folders.list[0], "/sys/class/kfd");
}

static void
throttled(const char *before_text, const char *after_text, const char *wanted)
{
	AUTO_JSON json_t *before = json_loads(before_text, 0, NULL);
	AUTO_JSON json_t *after = json_loads(after_text, 0, NULL);
	AUTO_JSON json_t *reasons = json_array();
	struct gpu then = gpu_of(before), now = gpu_of(after);
	gpu_throttled(&then, &now, reasons);
	AUTO_FREE char *text = json_dumps(reasons, JSON_COMPACT);
	assert_string_equal(text, wanted);
}

static void
test_throttled(void **state)
{
	(void)state;
	throttled("{}", "{}", "[]");
	throttled("{\"throttle\": [\"thermal\"]}", "{\"throttle\": [\"power-cap\", \"sync-boost\"]}", "[]");
	throttled("{}", "{\"throttle\": [\"power-brake\", \"thermal\"]}", "[\"power-brake\",\"thermal\"]");
	throttled("{\"slowed_ns\": {\"thermal\": 5}}", "{\"slowed_ns\": {\"thermal\": 1000005}}", "[]");
	throttled("{\"slowed_ns\": {\"thermal\": 5, \"power-cap\": 0}}",
		"{\"throttle\": [\"thermal\"], \"slowed_ns\": {\"thermal\": 1000006, \"power-cap\": 9000000000}}",
		"[\"thermal\"]");
	/* What was not counted before says nothing. */
	throttled("{}", "{\"slowed_ns\": {\"thermal\": 9000000000}}", "[]");
	throttled("{}", "{\"throttle\": [1, null], \"slowed_ns\": 7}", "[]");
}

static void
fitness(const char *gpu_text, bool idle, const char *wanted)
{
	AUTO_JSON json_t *json = json_loads(gpu_text, 0, NULL);
	AUTO_JSON json_t *causes = json_array();
	struct gpu gpu = gpu_of(json);
	gpu_unfit(&gpu, idle, causes);
	AUTO_FREE char *text = json_dumps(causes, JSON_COMPACT);
	assert_string_equal(text, wanted);
}

static void
test_unfit(void **state)
{
	(void)state;
	fitness("{}", true, "[]");
	fitness(
		"{\"throttle\": [\"power-cap\", \"sync-boost\", \"status-0x4\"], \"ecc_uncorrected\": 0, \"processes\": []}",
		true, "[]");
	fitness("{\"throttle\": [\"thermal\", \"thermal\", 7]}", true, "[\"thermal\"]");
	fitness("{\"ecc_uncorrected\": 1, \"processes\": [{\"pid\": 1}]}", true, "[\"ecc\",\"processes\"]");
	fitness("{\"processes\": [{\"pid\": 1}]}", false, "[]");
	fitness("{\"processes\": [{\"pid\": 1}], \"mig\": true}", true, "[]");
	fitness("{\"throttle\": 1, \"ecc_uncorrected\": \"9\", \"processes\": {}}", true, "[]");
}

static void
taken(const char *gpu_text, const char *pids_text, const char *processes, json_int_t bytes)
{
	AUTO_JSON json_t *json = json_loads(gpu_text, 0, NULL);
	AUTO_JSON json_t *pids = json_loads(pids_text, 0, NULL);
	AUTO_JSON json_t *idle = json_integer(100);
	gpu_take_prepared(json, pids, 1000);
	AUTO_FREE char *text = json_dumps(json_object_get(json, "processes"), JSON_COMPACT | JSON_SORT_KEYS);
	assert_string_equal(text ? text : "", processes);
	assert_int_equal(json_integer_value(json_object_get(json, "prepared")), bytes);
	json_object_set_new(json, "used", json_integer(110 + bytes));
	struct gpu gpu = gpu_of(json);
	assert_false(gpu_is_occupied(&gpu, idle, 10));
	json_object_set_new(json, "used", json_integer(111 + bytes));
	gpu = gpu_of(json);
	assert_true(gpu_is_occupied(&gpu, idle, 10));
}

/* Without an allowance only bytes that the driver says are theirs. */
static void
test_prepared_said(void **state)
{
	(void)state;
	AUTO_JSON json_t *json = json_loads("{\"processes\": [{\"pid\": 7}, {\"pid\": 8, \"memory\": 600}]}", 0, NULL);
	AUTO_JSON json_t *pids = json_loads("[7, 8]", 0, NULL);
	gpu_take_prepared(json, pids, 0);
	assert_int_equal(json_array_size(json_object_get(json, "processes")), 0);
	assert_int_equal(json_integer_value(json_object_get(json, "prepared")), 600);
}

/* Processes that wait for a run are no others', and what they hold is no residue; those of others stay. */
static void
test_prepared(void **state)
{
	(void)state;
	taken("{\"processes\": [{\"pid\": 7, \"memory\": 600}]}", "[]", "[{\"memory\":600,\"pid\":7}]", 0);
	taken("{\"processes\": [{\"pid\": 7, \"memory\": 600}, {\"pid\": 8}]}", "[7]", "[{\"pid\":8}]", 600);
	/* One that has not opened the GPU yet. */
	taken("{\"processes\": [{\"pid\": 7}, {\"pid\": 8}]}", "[7, 9]", "[{\"pid\":8}]", 1000);
	taken("{\"processes\": [{\"pid\": 77}]}", "[9]", "[{\"pid\":77}]", 0);
	/* The driver's numbers are not ours: as many as it has listed so are ours. */
	taken("{\"processes\": [{\"pid\": 1007}, {\"pid\": 1008}]}", "[0]", "[{\"pid\":1008}]", 1000);
	taken("{\"processes\": [{\"pid\": 1007}]}", "[0, 0]", "[]", 2000);
	taken("{\"processes\": [{\"pid\": 77}]}", "[-1]", "[{\"pid\":77}]", 1000);
	taken("{}", "[0]", "", 1000);
	taken("{\"processes\": [7]}", "[0]", "[]", 1000);
}

static void
remarks(const char *before_text, const char *after_text, const char *wanted)
{
	AUTO_JSON json_t *before = json_loads(before_text, 0, NULL);
	AUTO_JSON json_t *after = json_loads(after_text, 0, NULL);
	AUTO_JSON json_t *list = json_array();
	struct gpu then = gpu_of(before), now = gpu_of(after);
	gpu_remarks(&then, &now, list);
	AUTO_FREE char *text = json_dumps(list, JSON_COMPACT);
	assert_string_equal(text, wanted);
}

static void
test_remarks(void **state)
{
	(void)state;
	remarks("{}", "{}", "[]");
	remarks("{\"clocks_locked\": false}", "{\"clocks_locked\": false}", "[\"clocks-unlocked\"]");
	/* A GPU that has become idle does not show it any more. */
	remarks("{\"clocks_locked\": true}", "{\"clocks_locked\": false}", "[]");
	remarks("{\"slowed_ns\": {\"power-cap\": 5}}", "{\"slowed_ns\": {\"power-cap\": 1000006}}", "[\"power-cap\"]");
	remarks("{\"slowed_ns\": {\"power-cap\": 5}}", "{\"slowed_ns\": {\"power-cap\": 1000005}}", "[]");
	remarks("{}", "{\"power_limit_mw\": 699, \"power_default_mw\": 700}", "[\"power-limit\"]");
	remarks("{}", "{\"power_limit_mw\": 700}", "[]");
	remarks("{\"ecc_corrected\": 3}", "{\"ecc_corrected\": 3}", "[]");
	remarks("{}", "{\"ecc_corrected\": 3}", "[]");
	remarks("{\"ecc_corrected\": 3}", "{\"ecc_corrected\": 4, \"mig\": true}", "[\"ecc-corrected\",\"mig\"]");
	remarks("{}", "{\"clocks_locked\": 0, \"ecc\": null, \"mig\": 1, \"persistence\": \"\", \"power_limit_mw\": \"1\"}",
		"[]");
}

static void
test_idle(void **state)
{
	(void)state;
	AUTO_JSON json_t *reading = machine();
	AUTO_JSON json_t *list = json_pack("[s, s, s, s]", "0", "1", "2", "9");
	AUTO_STRINGS struct strings gpus = {0};
	AUTO_JSON json_t *idle = json_loads("{\"GPU-aa\": 50, \"GPU-bb\": 300}", 0, NULL);
	strings_read(&gpus, list);
	gpuwatch_note_idle(idle, reading, &gpus);
	AUTO_FREE char *text = json_dumps(idle, JSON_COMPACT | JSON_SORT_KEYS);
	assert_string_equal(text, "{\"GPU-aa\":50,\"GPU-bb\":200}");
}

/* Whatever the helper is or does, there is an answer. */
static void
test_helper(void **state)
{
	(void)state;
	struct execconfig config = {.gpu_helper = "/nonexistent/kettle-gpu"};
	struct kettle_error err = {0};
	json_t *reading = NULL;
	assert_int_equal(gpu_read(&config, &reading, &err), KETTLE_EUNAVAIL);
	const struct kettle_error missing = err;
	config.gpu_helper = "/bin/true";
	assert_int_equal(gpu_read(&config, &reading, &err), KETTLE_EUNAVAIL);
	assert_string_not_equal(err.message, missing.message); /* how a tool ended: runs_commands in test_tools.c */
	assert_null(reading);
	reading = gpu_read_or_explain(&config);
	json_t *error = json_array_get(json_object_get(reading, "errors"), 0);
	assert_string_equal(json_string_value(json_object_get(error, "error")), err.message);
	json_decref(reading);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_find),
	cmocka_unit_test(test_environment),
	cmocka_unit_test(test_folders),
	cmocka_unit_test(test_throttled),
	cmocka_unit_test(test_unfit),
	cmocka_unit_test(test_prepared),
	cmocka_unit_test(test_prepared_said),
	cmocka_unit_test(test_remarks),
	cmocka_unit_test(test_idle),
	cmocka_unit_test(test_helper),
};

UNIT_TESTS(test_gpu);
