/* SPDX-License-Identifier: MIT */
/* Single reference files in Python: the task that they become, and what they are refused for. */
#include <config.h>

#include <kettle/plugin.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/schema.h"

static const char reference[] = "import random\n\ndef generate_input():\n    return random.random()\n\n"
								"def ref_kernel (data):\n    return data\n\n"
								"from operator import eq as check_implementation\n";

static int
make(const char *text, size_t size, json_t **ret_task, struct kettle_error *err)
{
	return kettle_plugin.language->single_file(NULL, "identity.py", text, size, ret_task, err);
}

static void
test_task(void **state)
{
	(void)state;
	AUTO_JSON json_t *made = NULL;
	struct kettle_error err = {0};
	assert_int_equal(make(reference, strlen(reference), &made, &err), 0);
	const json_t *task = json_object_get(made, "task"), *files = json_object_get(made, "files"), *file;
	assert_string_equal(json_string_value(json_object_get(task, "lang")), "py");
	assert_int_equal(json_array_size(json_object_get(task, "tests")), 1);
	assert_int_equal(json_array_size(json_object_get(task, "benchmarks")), 1);
	size_t i, submissions = 0;
	json_array_foreach(json_object_get(task, "files"), i, file) {
		const char *name = json_string_value(json_object_get(file, "name"));
		bool submitted = strcmp(json_string_value(json_object_get(file, "source")), "@SUBMISSION@") == 0;
		submissions += submitted;
		assert_true(submitted == (json_object_get(files, name) == NULL));
	}
	assert_int_equal(submissions, 1);
	assert_string_equal(json_string_value(json_object_get(json_object_get(files, "reference.py"), "text")), reference);
	const char *main = json_string_value(json_object_get(json_object_get(task, "config"), "main"));
	assert_non_null(
		strstr(json_string_value(json_object_get(json_object_get(files, main), "text")), "ten fresh inputs"));
	const json_t *start = json_object_get(json_object_get(made, "templates"), "Python");
	assert_string_equal(json_string_value(json_object_get(start, "file_name")), "train.py");
}

static void
expect(const char *text, size_t size, const char *message)
{
	json_t *made = NULL;
	struct kettle_error err = {0};
	assert_int_equal(make(text, size, &made, &err), KETTLE_EINVAL);
	assert_null(made);
	assert_non_null(strstr(err.message, message));
}

static void
test_refused(void **state)
{
	(void)state;
	expect("", 0, "`identity.py` does not define `generate_input`; a reference file defines");
	expect("def generate_inputs(): pass", 27, "does not define `generate_input`");
	expect("  def generate_input(): pass", 28, "does not define `generate_input`");
	static const char two[] = "generate_input = ref_kernel = None\ndef ref_kernel(x): pass\n# check_implementation";
	expect(two, strlen(two), "does not define `check_implementation`");
	expect(reference, sizeof(reference), "it holds a NUL byte");
	static const char latin[] = "from x import generate_input, ref_kernel, check_implementation\n# \xe9\n";
	expect(latin, strlen(latin), "it is not UTF-8");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_task),
		cmocka_unit_test(test_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
