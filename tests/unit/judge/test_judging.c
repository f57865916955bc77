/* SPDX-License-Identifier: MIT */
/* Where outputs are checked and timed: what bundles keep of it, what answers show, which device is which. */
#include <config.h>

#include "judge/judging.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/json_access.h"
#include "base/xalloc.h"
#include "tests/lib/unit_test.h"

static const char *
judging_by_files(void *self, const json_t *task, const json_t *files, int gpu)
{
	(void)self;
	(void)task;
	return json_object_get(files, "strange") ? "strange" : gpu ? KETTLE_JUDGING_OWN : KETTLE_JUDGING_REFEREE;
}

static void
test_kept(void **state)
{
	const struct kettle_language with = {.size = sizeof(with), .judging = judging_by_files},
								 without = {.size = sizeof(without)};
	const struct language knows = {.name = "a", .ops = &with}, silent = {.name = "b", .ops = &without};
	AUTO_JSON json_t *files = json_object(), *strange = json_pack("{s:{}}", "strange");
	AUTO_JSON json_t *kept = judging_of(&knows, NULL, files), *other = judging_of(&knows, NULL, strange),
					 *none = judging_of(&silent, NULL, files);
	(void)state;
	assert_true(member_is(kept, "cpu", "referee") && member_is(kept, "gpu", "own harness"));
	/* A word that is not known promises nothing. */
	assert_true(member_is(other, "cpu", "one process") && member_is(other, "gpu", "one process"));
	assert_true(member_is(none, "cpu", "one process") && member_is(none, "gpu", "one process"));
}

static void
test_shown(void **state)
{
	AUTO_JSON json_t *differs = json_pack("{s:s, s:s}", "cpu", "referee", "gpu", "one process");
	AUTO_JSON json_t *two = judging_shown(differs), *one = judging_shown(NULL);
	(void)state;
	assert_int_equal(json_array_size(two), 2);
	assert_true(member_is(json_array_get(two, 0), "kind", "CPU") && member_is(json_array_get(two, 0), "by", "referee"));
	assert_true(
		member_is(json_array_get(two, 1), "kind", "GPU") && member_is(json_array_get(two, 1), "by", "one process"));
	assert_string_not_equal(json_text_or_empty(json_array_get(two, 0), "open"), "");
	assert_int_equal(json_array_size(one), 1);
	assert_true(
		member_is(json_array_get(one, 0), "kind", "any") && member_is(json_array_get(one, 0), "by", "one process"));
}

static void
test_devices(void **state)
{
	AUTO_JSON json_t *kept = json_pack("{s:s, s:s}", "cpu", "referee", "gpu", "one process");
	static const struct {
		const char *units;
		bool gpu;
	} cases[] = {
		{"", true},
		{"{}", false},
		{"{\"runner\": \"local\", \"cores\": \"1\"}", false},
		{"{\"gpu\": null}", false},
		{"{\"gpu\": 0}", true},
		{"{\"sm\": \"90a\"}", true},
		{"{\"gfx\": \"gfx942\"}", true},
		{"{\"expect\": {\"gpu\": \"H100\"}}", true},
		{"{\"expect\": {\"cpu\": \"EPYC\"}}", false},
		{"{\"runner\": \"ssh\", \"facts\": {\"cores\": 4}}", false},
		{"{\"runner\": \"ssh\", \"facts\": {\"gpu\": {\"name\": \"H100\"}}}", true},
		{"{}, {\"facts\": {\"gpu\": {}}}", true},
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO_FREE char *text = xasprintf("[%s]", cases[i].units);
		AUTO_JSON json_t *units = json_loads(text, 0, NULL);
		assert_non_null(units);
		assert_string_equal(judging_on(kept, units), cases[i].gpu ? "one process" : "referee");
	}
	assert_string_equal(judging_on(kept, NULL), "one process");
	assert_string_equal(judging_on(NULL, NULL), "one process");
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_kept),
	cmocka_unit_test(test_shown),
	cmocka_unit_test(test_devices),
};
UNIT_TESTS(test_judging);
