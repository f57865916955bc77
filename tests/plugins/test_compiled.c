/* SPDX-License-Identifier: MIT */
/* kettle/compiled.h for a language without objects: one step makes the program of all sources. */
#include <config.h>

#include <kettle/compiled.h>

#include "base/cleanup.h"
#include "lib/unit_test.h"

static json_t *
link_program(const struct kettle_compiled_builder *builder)
{
	json_t *args = json_pack("[s]", "whole");
	kettle_compiled_add_objects(builder, args);
	return args;
}

static json_t *
plan_of(const char *config_text)
{
	static const char *const sources[] = {".w", NULL};
	static const struct kettle_compiled_rules rules = {.title = "Whole", .sources = sources, .link = link_program};
	AUTO_JSON json_t *config = json_loads(config_text, 0, NULL);
	AUTO_JSON json_t *task = json_pack("{s:O}", "config", config), *device = json_pack("{s:s}", "name", "CPU");
	AUTO_JSON json_t *files = json_pack(
		"{s:{s:s}, s:{s:s}, s:{s:s}}", "main.w", "text", "m", "kernel.w", "text", "k", "data.txt", "text", "d");
	AUTO_JSON json_t *runs = json_pack("[{s:s, s:s, s:{s:[s]}}]", "id", "test", "kind", "run", "run", "args", "test");
	const struct kettle_plan_request request = {.size = sizeof(request),
		.task = task,
		.files = files,
		.submission = "kernel.w",
		.mode = "test",
		.device = device,
		.runs = runs};
	struct kettle_error err = {0};
	json_t *plan = NULL;
	void *self = NULL;
	assert_int_equal(kettle_compiled_create(&rules, &self, &err), 0);
	if (kettle_compiled_plan(self, &request, &plan, &err) != 0)
		fail_msg("%s", err.message);
	kettle_compiled_destroy(self);
	return plan;
}

/* Compares what a step has under a key with JSON text. */
static void
expect(const json_t *plan, size_t index, const char *key, const char *wanted)
{
	AUTO_JSON json_t *value = json_loads(wanted, 0, NULL);
	const json_t *step = json_array_get(json_object_get(plan, "steps"), index);
	AUTO_FREE char *text = json_dumps(json_object_get(step, key), JSON_COMPACT);
	if (!json_equal(json_object_get(step, key), value))
		fail_msg("%s is %s, not %s", key, text, wanted);
}

static void
test_all_sources(void **state)
{
	(void)state;
	AUTO_JSON json_t *plan = plan_of("{}");
	assert_int_equal(json_array_size(json_object_get(plan, "steps")), 2);
	expect(plan, 0, "argv", "[\"whole\", \"main.w\", \"kernel.w\", \"-o\", \"out/program\"]");
	expect(plan, 0, "needs", "[]");
	expect(plan, 0, "outputs", "[\"program\"]");
	expect(plan, 1, "needs", "[\"link\"]");
	expect(plan, 1, "argv", "[\"./program\", \"test\"]");
	expect(plan, 1, "inputs",
		"{\"data.txt\": {\"file\": \"data.txt\"}, \"program\": {\"step\": \"link\", \"output\": \"program\"}}");
}

/* The command names those that the task lists; the others are there to be found. */
static void
test_listed_sources(void **state)
{
	(void)state;
	AUTO_JSON json_t *plan = plan_of("{\"sources\": [\"main.w\"]}");
	expect(plan, 0, "argv", "[\"whole\", \"main.w\", \"-o\", \"out/program\"]");
	expect(plan, 0, "inputs",
		"{\"main.w\": {\"file\": \"main.w\"}, \"kernel.w\": {\"file\": \"kernel.w\"}, \"data.txt\": {\"file\": "
		"\"data.txt\"}}");
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_all_sources),
	cmocka_unit_test(test_listed_sources),
};

UNIT_TESTS(test_compiled);
