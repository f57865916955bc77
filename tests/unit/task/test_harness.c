/* SPDX-License-Identifier: MIT */
/* The key `harness` of task.yml: what it adds to a bundle, how a text gets it, and what refuses it. */
#include <config.h>

#include "task/task.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/json_access.h"
#include "task/task_yml.h"
#include "tests/lib/languages.h"
#include "tests/lib/unit_test.h"

#define YML \
	"files:\n  - {name: submission.py, source: \"@SUBMISSION@\"}\n  - {name: reference.py, source: reference.py}\n" \
	"  - {name: eval.py, source: eval.py}\nlang: py\nconfig: {main: eval.py}\n" \
	"tests: [{seed: 1}]\nbenchmarks: [{seed: 2}]\n"

static json_t *
make_bundle(const char *yml)
{
	return json_pack("{s:s, s:s, s:{s:{s:s}, s:{s:s}}, s:{}}", "name", "sort", "yml", yml, "files", "reference.py",
		"text", "def ref_kernel(): pass", "eval.py", "text", "the task's own", "templates");
}

static json_t *
checked(const json_t *raw, const char *harness)
{
	json_t *bundle = NULL;
	struct kettle_error err = {0};
	if (task_check_harness(languages, raw, harness, &bundle, &err))
		fail_msg("%s", err.message);
	return bundle;
}

static void
expect_refused(const json_t *raw)
{
	json_t *bundle = NULL;
	struct kettle_error err = {0};
	assert_int_equal(task_check_harness(languages, raw, "kettle", &bundle, &err), KETTLE_EINVAL);
	assert_sentence(err.message);
	assert_null(bundle);
}

static const char *
text_of(const json_t *bundle, const char *file)
{
	return json_text_or_empty(json_object_get(json_object_get(bundle, "files"), file), "text");
}

static void
test_added(void **state)
{
	AUTO_JSON json_t *raw = make_bundle(YML), *own = checked(raw, NULL), *adopted = checked(raw, "kettle");
	(void)state;
	assert_null(json_object_get(json_object_get(own, "task"), "harness"));
	assert_true(member_is(json_object_get(adopted, "task"), "harness", "kettle"));
	assert_string_equal(json_text_or_empty(adopted, "yml"), YML "harness: kettle\n");
	assert_int_equal(json_object_size(json_object_get(own, "files")), 2);
	assert_string_equal(text_of(adopted, "harness/eval.py"), "Kettle's");
	/* What the task brings stays. */
	assert_string_equal(text_of(adopted, "eval.py"), "the task's own");
	assert_string_not_equal(json_text_or_empty(own, "hash"), json_text_or_empty(adopted, "hash"));
}

/* A bundle that comes back is the same, whatever it says of the harness's files. */
static void
test_again(void **state)
{
	AUTO_JSON json_t *raw = make_bundle(YML), *once = checked(raw, "kettle"), *twice = checked(once, "kettle");
	AUTO_JSON json_t *forged = json_deep_copy(once);
	(void)state;
	assert_true(json_equal(once, twice));
	json_object_set_new(json_object_get(forged, "files"), "harness/eval.py", json_pack("{s:s}", "text", "forged"));
	json_object_set_new(json_object_get(forged, "files"), "harness/more.py", json_pack("{s:s}", "text", "forged"));
	json_object_set_new(forged, "judging", json_pack("{s:s}", "cpu", "referee"));
	AUTO_JSON json_t *again = checked(forged, NULL);
	assert_true(json_equal(once, again));
}

static const char remark[] = "The folder has a file that no source names.";

static size_t
count_remarks(const json_t *bundle)
{
	size_t found = 0;
	json_array_each(json_object_get(bundle, "remarks"), one)
		found += strcmp(json_string_value(one), remark) == 0;
	return found;
}

/* Those of a bundle that was read here stay; what a client says does not count. */
static void
test_remarks(void **state)
{
	AUTO_JSON json_t *raw = make_bundle(YML), *clean = checked(raw, "kettle"), *read = checked(raw, NULL);
	AUTO_JSON json_t *kept = NULL, *same = NULL;
	(void)state;
	json_object_set_new(raw, "remarks", json_pack("[s]", remark));
	AUTO_JSON json_t *sent = checked(raw, "kettle");
	assert_true(json_equal(clean, sent));
	json_array_append_new(json_object_get(read, "remarks"), json_string(remark));
	assert_int_equal(task_add_harness(languages, read, "kettle", &kept, NULL), 0);
	assert_true(member_is(json_object_get(kept, "task"), "harness", "kettle"));
	assert_int_equal(count_remarks(kept), 1);
	assert_int_equal(task_add_harness(languages, read, NULL, &same, NULL), 0);
	assert_ptr_equal(same, read);
}

static void
test_refused(void **state)
{
	AUTO_JSON json_t *lacks = make_bundle(
		"files: [{name: a.py, source: \"@SUBMISSION@\"}, {name: eval.py, source: eval.py}]\nlang: py\nconfig: {main: "
		"eval.py}\ntests: [{seed: 1}]\nbenchmarks: [{seed: 2}]\n");
	AUTO_JSON json_t *taken = make_bundle("files: [{name: a.py, source: \"@SUBMISSION@\"}, {name: eval.py, source: "
										  "eval.py}, {name: reference.py, source: r},\n"
										  "  {name: harness/eval.py, source: x}]\nlang: py\nconfig: {main: "
										  "eval.py}\ntests: [{seed: 1}]\nbenchmarks: [{seed: "
										  "2}]\n");
	AUTO_JSON json_t *other =
		make_bundle("files: [{name: a.cu, source: \"@SUBMISSION@\"}]\nlang: cu\nconfig: {}\ntests: "
					"[{seed: 1}]\nbenchmarks: [{seed: 2}]\n");
	AUTO_JSON json_t *unknown = make_bundle(YML "harness: iron\n");
	struct kettle_error err = {0};
	json_t *bundle = NULL;
	(void)state;
	json_object_set_new(json_object_get(taken, "files"), "harness/eval.py", json_pack("{s:s}", "text", "its own"));
	expect_refused(lacks);
	expect_refused(taken);
	expect_refused(other);
	assert_int_equal(task_check_bundle(languages, unknown, &bundle, &err), KETTLE_EINVAL);
	assert_non_null(strstr(err.message, "sort/task.yml:9:10"));
}

/* A line at the end; where that cannot be, the text is written anew. */
static void
test_texts(void **state)
{
	static const struct {
		const char *text, *expected;
	} cases[] = {
		{"a: 1\n", "a: 1\nharness: kettle\n"},
		{"a: |\n  text", "a: |\n  text\nharness: kettle\n"},
		{"a: 1\nharness: kettle\n# end\n", "a: 1\nharness: kettle\n# end\n"},
		{"{a: 1}\n", "{\n  \"a\": 1,\n  \"harness\": \"kettle\"\n}"},
		{"harness: iron\na: 1\n", "{\n  \"harness\": \"kettle\",\n  \"a\": 1\n}"},
		{"a: 1\n...\n", "{\n  \"a\": 1,\n  \"harness\": \"kettle\"\n}"},
	};
	AUTO_FREE char *none = NULL;
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		AUTO_FREE char *text = NULL;
		assert_int_equal(task_yml_set_harness("t", cases[i].text, "kettle", &text, NULL), 0);
		assert_string_equal(text, cases[i].expected);
	}
	assert_int_equal(task_yml_set_harness("t", "a: [", "kettle", &none, NULL), KETTLE_EINVAL);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_added),
	cmocka_unit_test(test_again),
	cmocka_unit_test(test_remarks),
	cmocka_unit_test(test_refused),
	cmocka_unit_test(test_texts),
};
UNIT_TESTS(test_harness, .setup = languages_setup, .teardown = languages_teardown);
