/* SPDX-License-Identifier: MIT */
/* Packs: a task and its pack mean the same, whatever the task reaches. */
#include <config.h>

#include "task/pack.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "lib/languages.h"
#include "lib/unit_test.h"
#include "task/task.h"
#include "unit/scratch.h"

static json_t *
pack(const char *path, bool solutions)
{
	json_t *made = NULL;
	struct kettle_error err = {0};
	if (task_pack(languages, path, NULL, solutions, &made, &err))
		fail_msg("%s", err.message);
	return made;
}

static const char *
text_in(const json_t *made, const char *path)
{
	return json_string_value(json_object_get(json_object_get(json_object_get(made, "files"), path), "text"));
}

/* The pack as a file, read again: the same hash, templates and name; and the same bytes when it is made again. */
static void
same_as_zip(const char *scratch, const json_t *made, const json_t *bundle)
{
	AUTO_FREE char *data = NULL, *again = NULL, *path = path_join(scratch, "any.zip");
	AUTO_JSON json_t *read = NULL;
	size_t size = 0, size_again = 0;
	struct kettle_error err = {0};
	assert_int_equal(task_pack_zip(made, &data, &size, NULL), 0);
	assert_int_equal(task_pack_zip(made, &again, &size_again, NULL), 0);
	assert_int_equal(size, size_again);
	assert_memory_equal(data, again, size);
	assert_int_equal(file_write(path, data, size, 0600, NULL), 0);
	if (task_read(languages, path, &read, &err))
		fail_msg("%s", err.message);
	assert_true(json_equal(json_object_get(read, "hash"), json_object_get(bundle, "hash")));
	assert_true(json_equal(json_object_get(read, "name"), json_object_get(bundle, "name")));
	assert_true(json_equal(json_object_get(read, "files"), json_object_get(bundle, "files")));
	const char *language;
	json_t *template;
	json_object_foreach(json_object_get(bundle, "templates"), language, template)
		assert_true(json_equal(json_object_get(template, "text"),
			json_object_get(json_object_get(json_object_get(read, "templates"), language), "text")));
}

static void
test_all(void **state)
{
	(void)state;
	static const char *const tasks[] = {"tests/fixtures/tasks/set/sort_py", "tests/fixtures/tasks/set/allreduce_py",
		"tests/fixtures/tasks/set/deep/conv_py", "tests/fixtures/tasks/set/grayscale_cu",
		"tests/fixtures/tasks/set/attention_py", "tasks/vectoradd_cpp", "tasks/matmul_cpp"};
	for (size_t i = 0; i < ARRAY_SIZE(tasks); i++) {
		char *scratch = scratch_make();
		AUTO_FREE char *path = path_join(getenv("top_srcdir"), tasks[i]);
		AUTO_JSON json_t *bundle = NULL, *made = pack(path, true);
		assert_int_equal(task_read(languages, path, &bundle, NULL), 0);
		same_as_zip(scratch, made, bundle);
		scratch_remove(scratch);
	}
}

#define REST "lang: py\nconfig: {main: e.py}\ntests: [{n: 1, seed: 1}]\nbenchmarks: [{n: 2, seed: 2}]\n"

/* A folder `set/task` with files above it, of the same names. */
static char *
make_set(const char *scratch, const char *yml)
{
	AUTO_FREE char *set = path_join(scratch, "set");
	char *task = path_join(set, "task");
	assert_int_equal(file_mkdirs(task, 0755, NULL), 0);
	free(scratch_write(scratch, "e.py", "two up\n"));
	free(scratch_write(set, "e.py", "one up\n"));
	free(scratch_write(task, "e.py", "inside\n"));
	free(scratch_write(task, "task.yml", yml));
	return task;
}

static void
test_collisions(void **state)
{
	(void)state;
	char *scratch = scratch_make();
	AUTO_FREE char *task = make_set(scratch,
		"# kept\nfiles:\n  - {name: s.py, source: \"@SUBMISSION@\"} # so is this\n  - {name: a.py, source: "
		"../../e.py}\n"
		"  - {name: b.py, source: ../e.py}\n  - {name: e.py, source: ./e.py}\n  - {name: c.py, source: ../e.py}\n"
		"templates: {Python: ../e.py}\n" REST);
	AUTO_JSON json_t *bundle = NULL, *made = pack(task, false);
	assert_int_equal(task_read(languages, task, &bundle, NULL), 0);
	same_as_zip(scratch, made, bundle);
	assert_string_equal(text_in(made, "e.py"), "inside\n");
	assert_string_equal(text_in(made, "shared1/e.py"), "two up\n");
	assert_string_equal(text_in(made, "shared2/e.py"), "one up\n");
	assert_int_equal(json_object_size(json_object_get(made, "files")), 4);
	assert_string_equal(text_in(made, "task.yml"),
		"# kept\nfiles:\n  - {name: s.py, source: \"@SUBMISSION@\"} # so is this\n  - {name: a.py, source: "
		"\"shared1/e.py\"}\n  - {name: b.py, source: \"shared2/e.py\"}\n  - {name: e.py, source: ./e.py}\n  - {name: "
		"c.py, source: \"shared2/e.py\"}\ntemplates: {Python: \"shared2/e.py\"}\n" REST);
	scratch_remove(scratch);
}

/* A source that stands behind an alias cannot be changed at its place: the file is written anew. */
static void
test_alias(void **state)
{
	(void)state;
	char *scratch = scratch_make();
	AUTO_FREE char *task = make_set(scratch,
		"files:\n  - {name: s.py, source: \"@SUBMISSION@\"}\n  - {name: a.py, source: &up ../e.py}\n  - {name: b.py, "
		"source: *up}\n  - {name: e.py, source: e.py}\n" REST);
	AUTO_JSON json_t *bundle = NULL, *made = pack(task, false);
	assert_int_equal(task_read(languages, task, &bundle, NULL), 0);
	same_as_zip(scratch, made, bundle);
	scratch_remove(scratch);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_all),
	cmocka_unit_test(test_collisions),
	cmocka_unit_test(test_alias),
};

UNIT_TESTS(test_pack, .setup = languages_setup, .teardown = languages_teardown);
