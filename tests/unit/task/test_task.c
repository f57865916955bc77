/* SPDX-License-Identifier: MIT */
/* Tasks: every form of KernelBot loads, and every bad task gets its sentence. */
#include <config.h>

#include "task/task.h"
#include "task/task_yml.h"

#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/json_access.h"
#include "base/xalloc.h"
#include "lib/languages.h"
#include "lib/unit_test.h"
#include "unit/scratch.h"

static json_t *
read_fixture(const char *name)
{
	AUTO_BUF struct buf path = {0};
	json_t *bundle = NULL;
	struct kettle_error err = {0};
	buf_printf(&path, "%s/tests/fixtures/tasks/set/%s", getenv("top_srcdir"), name);
	if (task_read(languages, path.data, &bundle, &err))
		fail_msg("%s", err.message);
	return bundle;
}

static const json_t *
at(const json_t *value, const char *key)
{
	return json_object_get(value, key);
}

static const char *
text_at(const json_t *value, const char *key)
{
	return json_string_value(at(value, key));
}

/* ---- forms of KernelBot ---- */

static void
test_python(void **state)
{
	(void)state;
	AUTO_JSON json_t *bundle = read_fixture("sort_py");
	const json_t *task = at(bundle, "task"), *files = at(bundle, "files");
	assert_string_equal(text_at(bundle, "name"), "sort_py");
	assert_string_equal(text_at(bundle, "submission"), "submission.py");
	assert_int_equal(json_object_size(files), 4);
	assert_non_null(strstr(text_at(at(files, "eval.py"), "text"), "Stands for a harness"));
	assert_non_null(strstr(text_at(at(files, "reference.py"), "text"), "ref_kernel"));
	assert_string_equal(text_at(at(at(bundle, "templates"), "Triton"), "file_name"), "triton.py");
	assert_string_equal(text_at(task, "ranking_by"), "geom");
	assert_true(json_is_true(at(at(task, "config"), "checks"))); /* a default of the language */
	assert_int_equal(json_integer_value(at(task, "test_timeout")), 180);
	assert_true(json_real_value(at(task, "ranked_timeout")) == 240.5);
	assert_int_equal(json_array_size(at(task, "gpus")), 2);
	assert_true(json_is_true(at(json_array_get(at(task, "tests"), 1), "stable")));
	assert_true(json_is_false(at(json_array_get(at(task, "benchmarks"), 1), "stable")));
	assert_int_equal(json_array_size(at(json_array_get(at(task, "tests"), 2), "shape")), 2);
	assert_null(at(task, "seed"));
	assert_int_equal(json_array_size(at(bundle, "remarks")), 1);
	assert_non_null(strstr(json_string_value(json_array_get(at(bundle, "remarks"), 0)), "`submission.py`"));
	assert_int_equal(strlen(text_at(bundle, "hash")), 64);
}

static void
test_other_forms(void **state)
{
	(void)state;
	AUTO_JSON json_t *multi = read_fixture("allreduce_py"), *deep = read_fixture("deep/conv_py");
	AUTO_JSON json_t *cuda = read_fixture("grayscale_cu/task.yml");
	assert_true(json_is_true(at(at(multi, "task"), "multi_gpu")));
	assert_string_equal(text_at(at(multi, "task"), "description"), "");
	assert_string_equal(text_at(at(multi, "task"), "ranking_by"), "last");
	assert_int_equal(json_integer_value(at(at(multi, "task"), "seed")), 17);
	assert_string_equal(text_at(at(deep, "task"), "lang"), "py");
	assert_non_null(at(at(deep, "files"), "lib/utils.py"));
	assert_non_null(strstr(json_string_value(json_array_get(at(deep, "remarks"), 0)), "has a `seed`"));
	assert_string_equal(text_at(at(at(at(cuda, "task"), "config"), "defines"), "SIZE"), "128");
	assert_string_equal(text_at(cuda, "name"), "grayscale_cu");
}

/* Every other row of the format's table: what a harness reads of the cases, templates, a file that is no text. */
static void
test_rows(void **state)
{
	(void)state;
	AUTO_JSON json_t *bundle = read_fixture("attention_py");
	const json_t *task = at(bundle, "task");
	assert_string_equal(text_at(bundle, "submission"), "solution.py");
	assert_non_null(text_at(at(at(bundle, "files"), "data/table.bin"), "base64"));
	assert_non_null(strstr(text_at(at(at(bundle, "files"), "utils.py"), "text"), ""));
	static const char *const templates[] = {"Python", "Triton", "CUDA", "HIP", "CuteDSL"};
	for (size_t i = 0; i < ARRAY_SIZE(templates); i++)
		assert_non_null(strstr(text_at(at(at(bundle, "templates"), templates[i]), "text"), templates[i]));
	assert_string_equal(text_at(at(at(bundle, "templates"), "CuteDSL"), "file_name"), "template-cute.py");
	AUTO_FREE char *tests = run_steps_cases(at(task, "tests"), 0, 2);
	assert_string_equal(tests, "batch: 1; offset: -3; causal: True; shape: [1, -2, 3]; kind: fp16\n"
							   "seed: 1; causal: False; shape: []; k_2: 2\n");
	AUTO_FREE char *benchmarks = run_steps_cases(at(task, "benchmarks"), 0, 1);
	assert_string_equal(
		benchmarks, "batch: 8; offset: 0; causal: True; shape: [4, 4]; kind: fp8_e4m3; seed: 9007199254740993\n");
	assert_string_equal(text_at(task, "ranking_by"), "last");
	assert_int_equal(json_array_size(at(task, "gpus")), 3);
}

static void
test_shipped(void **state)
{
	(void)state;
	static const char *const names[] = {"vectoradd_cpp", "matmul_cpp"};
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		AUTO_BUF struct buf path = {0};
		AUTO_JSON json_t *bundle = NULL;
		struct kettle_error err = {0};
		buf_printf(&path, "%s/tasks/%s", getenv("top_srcdir"), names[i]);
		if (task_read(languages, path.data, &bundle, &err))
			fail_msg("%s", err.message);
		assert_int_equal(json_array_size(at(bundle, "remarks")), 0);
	}
}

/* ---- bundles ---- */

static json_t *
check_again(const json_t *bundle)
{
	json_t *again = NULL;
	struct kettle_error err = {0};
	if (task_check_bundle(languages, bundle, &again, &err))
		fail_msg("%s", err.message);
	return again;
}

static void
test_bundle(void **state)
{
	(void)state;
	AUTO_JSON json_t *bundle = read_fixture("sort_py"), *lie = json_deep_copy(bundle);
	json_object_set_new(lie, "hash", json_string("0"));
	json_object_set_new(lie, "task", json_object());
	json_object_set_new(lie, "submission", json_string("eval.py"));
	json_object_set_new(lie, "remarks", json_array());
	json_object_set_new(
		at(lie, "files") ? json_object_get(lie, "files") : NULL, "more.py", json_pack("{s:s}", "text", ""));
	AUTO_JSON json_t *again = check_again(lie);
	json_object_set(again, "remarks", at(bundle, "remarks") ? json_object_get(bundle, "remarks") : NULL);
	assert_true(json_equal(bundle, again));
}

/* What a task was seen to import stays with it, and does not make it another version; what is no list of names does not. */
static void
test_imported(void **state)
{
	(void)state;
	static const char *const wrong[] = {"[]", "\"jax\"", "[1]", "[\"\"]", "[\"jax numpy\"]", "[\"jax\", \"a/b\"]"};
	AUTO_JSON json_t *bundle = read_fixture("sort_py"), *seen = json_deep_copy(bundle);
	json_object_set_new(seen, "imported", json_pack("[s, s]", "torch._dynamo", "jax"));
	AUTO_JSON json_t *again = check_again(seen);
	assert_true(json_equal(at(again, "imported"), at(seen, "imported")));
	assert_string_equal(text_at(again, "hash"), text_at(bundle, "hash"));
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		json_object_set_new(seen, "imported", json_loads(wrong[i], JSON_DECODE_ANY, NULL));
		AUTO_JSON json_t *without = check_again(seen);
		assert_null(at(without, "imported"));
	}
}

static void
test_hash(void **state)
{
	(void)state;
	AUTO_JSON json_t *bundle = read_fixture("grayscale_cu"), *same = json_deep_copy(bundle);
	AUTO_JSON json_t *other = json_deep_copy(bundle);
	AUTO_BUF struct buf yml = {0};
	buf_printf(&yml, "%sgpus: [T4]\n", text_at(bundle, "yml"));
	char *gray = strstr(yml.data, "gray.");
	assert_non_null(gray);
	gray[0] = 'G';
	json_object_set_new(same, "yml", json_string(yml.data));
	AUTO_JSON json_t *same_checked = check_again(same);
	assert_string_equal(text_at(bundle, "hash"), text_at(same_checked, "hash"));
	json_object_set_new(json_object_get(other, "files"), "reference.cuh", json_pack("{s:s}", "text", "int x;"));
	AUTO_JSON json_t *other_checked = check_again(other);
	assert_string_not_equal(text_at(bundle, "hash"), text_at(other_checked, "hash"));
}

static void
expect_bundle(json_t *bundle, int code, const char *sentence)
{
	json_t *again = NULL;
	struct kettle_error err = {0};
	assert_int_equal(task_check_bundle(languages, bundle, &again, &err), code);
	assert_null(again);
	assert_string_equal(err.message, sentence);
}

static void
test_bad_bundles(void **state)
{
	(void)state;
	AUTO_JSON json_t *bundle = read_fixture("grayscale_cu");
	json_t *files = json_object_get(bundle, "files");
	json_object_set_new(files, "reference.cuh", json_pack("{s:s}", "base64", "!!"));
	expect_bundle(bundle, KETTLE_EINVAL,
		"grayscale_cu/task.yml: the file `reference.cuh`: The contents given as base64 are not base64.");
	json_object_set_new(files, "reference.cuh", json_pack("{s:s}", "blob", "00"));
	expect_bundle(bundle, KETTLE_EINVAL,
		"grayscale_cu/task.yml: the file `reference.cuh`: Contents must be {\"text\": …} or {\"base64\": …} here.");
	json_object_del(files, "reference.cuh");
	expect_bundle(
		bundle, KETTLE_ENOENT, "grayscale_cu/task.yml: the contents of the file `reference.cuh` are missing.");
	AUTO_FREE char *huge = calloc(1, TASK_MAX_BYTES + 2);
	memset(huge, 'x', TASK_MAX_BYTES + 1);
	json_object_set_new(files, "reference.cuh", json_pack("{s:s}", "text", huge));
	expect_bundle(
		bundle, KETTLE_ETOOBIG, "grayscale_cu/task.yml: the task's files together exceed the limit of 32 MiB.");
	json_object_set_new(files, "reference.cuh", json_pack("{s:s}", "text", ""));
	json_object_del(bundle, "templates");
	expect_bundle(bundle, KETTLE_ENOENT, "grayscale_cu/task.yml: the template for CUDA is missing.");
	json_object_set_new(bundle, "name", json_string("../x"));
	struct kettle_error err = {0};
	json_t *again = NULL;
	assert_int_equal(task_check_bundle(languages, bundle, &again, &err), KETTLE_EINVAL);
	assert_non_null(strstr(err.message, "task bundle: name must match"));
	AUTO_JSON json_t *none = json_array();
	assert_int_equal(task_check_bundle(languages, none, &again, &err), KETTLE_EINVAL);
}

/* ---- bad task.yml ---- */

#define FILES "files: [{name: s.py, source: \"@SUBMISSION@\"}, {name: e.py, source: e.py}]\n"
#define LANG "lang: py\nconfig: {main: e.py}\n"
#define CASES "tests: [{n: 1, seed: 1}]\nbenchmarks: [{n: 2, seed: 2}]\n"

/* A folder `task` that holds e.py and a task.yml of this text. */
static char *
make_task(const char *scratch, const char *yml)
{
	char *dir = path_join(scratch, "task");
	assert_int_equal(file_mkdirs(dir, 0755, NULL), 0);
	free(scratch_write(dir, "e.py", "pass\n"));
	free(scratch_write(dir, "task.yml", yml));
	return dir;
}

static void
expect_folder(const char *dir, const char *sentence)
{
	json_t *bundle = NULL;
	struct kettle_error err = {0};
	if (task_read(languages, dir, &bundle, &err) == 0) {
		json_decref(bundle);
		fail_msg("no error, but wanted: %s", sentence);
	}
	/* A fault of task.yml begins with its path, of which the sentence has what is behind the scratch folder. */
	size_t len = strlen(dir) - strlen("task");
	bool in_task = strncmp(sentence, "task/", strlen("task/")) == 0;
	assert_true(!in_task || strncmp(err.message, dir, len) == 0);
	assert_string_equal(err.message + (in_task ? len : 0), sentence);
}

struct bad_yml {
	const char *yml, *sentence;
};

static const struct bad_yml bad_keys[] = {
	{FILES LANG CASES "testz: 1\n", "task/task.yml:6:1: unknown key `testz`; did you mean `tests`?"},
	{FILES "lang: cuu\n" CASES, "task/task.yml:2:7: There is no language `cuu` (did you mean `cu`?); loaded languages: "
								"cpp, cu, py."},
	{FILES "lang: py\nconfig: {mian: e.py}\n" CASES,
		"task/task.yml:3:10: unknown key `mian` in `config`; did you mean `main`?"},
	{FILES "lang: py\n" CASES, "task/task.yml:1:1: config lacks the key `main`."},
	{FILES LANG "tests: []\nbenchmarks: [{n: 1}]\n", "task/task.yml:4:8: tests must have at least 1 element, not 0."},
	{FILES LANG "tests: [{n: 1}]\n", "task/task.yml:1:1: the top level lacks the key `benchmarks`."},
	{FILES LANG "tests: {n: 1}\nbenchmarks: [{n: 1}]\n",
		"task/task.yml:4:8: tests must be a list, not a map with `n`."},
	{FILES LANG "tests: [{n: 1.5}]\nbenchmarks: [{n: 1}]\n",
		"task/task.yml:4:13: tests[0].n must be an integer, a string of at most 200 characters, true or false or a "
		"list, "
		"not 1.5."},
	{FILES LANG "tests:\n  - {n: 1}\n  - {n: a; b}\nbenchmarks: [{n: 1}]\n",
		"task/task.yml:6:9: tests[1].n must match the pattern ^[A-Za-z0-9_]+$; the string \"a; b\" does not."},
	{FILES LANG "tests: [{n: [1, x]}]\nbenchmarks: [{n: 1}]\n",
		"task/task.yml:4:17: tests[0].n[1] must be an integer, not the string \"x\"."},
	{FILES LANG "tests: [{n: {a: 1}}]\nbenchmarks: [{n: 1}]\n",
		"task/task.yml:4:13: tests[0].n must be an integer, a string of at most 200 characters, true or false or a "
		"list, "
		"not a map with `a`."},
	{FILES LANG "tests: [{n: }]\nbenchmarks: [{n: 1}]\n",
		"task/task.yml:4:13: tests[0].n must be an integer, a string of at most 200 characters, true or false or a "
		"list, "
		"not empty."},
	{FILES LANG "tests: [{a-b: 1}]\nbenchmarks: [{n: 1}]\n",
		"task/task.yml:4:10: tests[0].a-b has a name that does not match the pattern ^[A-Za-z_][A-Za-z0-9_]{0,63}$."},
	{FILES LANG CASES "ranking_by: first\n",
		"task/task.yml:6:13: ranking_by must be one of \"last\", \"mean\" or \"geom\", not the string \"first\"."},
	{FILES LANG CASES "test_timeout: 0\n",
		"task/task.yml:6:15: test_timeout must be a number above 0 and at most 86400, not 0."},
	{FILES LANG CASES "jit_cache: never\n",
		"task/task.yml:6:12: jit_cache must be one of true, false, \"yes\" or \"no\", not the string \"never\"."},
	{FILES LANG CASES "multi_gpu: true\n",
		"task/task.yml:4:9: tests[0] needs a `world_size` from 1 to 64, because the task says `multi_gpu: true`."},
	{FILES LANG "multi_gpu: true\ntests: [{world_size: 2}]\nbenchmarks:\n  - world_size: 2\n  - world_size: 65\n",
		"task/task.yml:8:17: benchmarks[1] needs a `world_size` from 1 to 64, because the task says `multi_gpu: "
		"true`."},
	{FILES LANG CASES "templates:\n  Python: none.py\n", "task/task.yml:7:11: the file `none.py` does not exist."},
	{"files: [{name: s.cpp, source: \"@SUBMISSION@\"}]\nlang: c++\nconfig:\n  sources: [s.cpp, eval.cpp]\n" CASES,
		"task/task.yml:3:1: The task's config lists `eval.cpp` in `sources`, but no entry of its `files` has that "
		"name."},
	{"files: &a [*a]\n", "task/task.yml:1:12: the alias `*a` refers to no anchor that is complete before it."},
	{"", "task/task.yml: the top level must be a map, not empty."},
};

static const struct bad_yml bad_files[] = {
	{FILES FILES LANG CASES, "task/task.yml:2:1: the key `files` is given twice."},
	{"files: [{name: e.py, source: e.py}]\n" LANG CASES,
		"task/task.yml:1:8: no entry of `files` has the source @SUBMISSION@; one entry must have it, for the submitted "
		"file."},
	{"files:\n  - {name: s.py, source: \"@SUBMISSION@\"}\n  - {name: t.py, source: \"@SUBMISSION@\"}\n" LANG CASES,
		"task/task.yml:3:26: both `s.py` and `t.py` have the source @SUBMISSION@; a submission is one file."},
	{"files:\n  - {name: s.py, source: \"@SUBMISSION@\"}\n  - {name: s.py, source: e.py}\n" LANG CASES,
		"task/task.yml:3:12: the name `s.py` occurs twice in `files`; every file needs a name of its own."},
	{"files:\n  - {name: s, source: \"@SUBMISSION@\"}\n  - {name: s/e.py, source: e.py}\n" LANG CASES,
		"task/task.yml:3:12: `s` and `s/e.py` in `files` cannot be both a file and a folder."},
	{"files:\n  - {name: s, source: \"@SUBMISSION@\"}\n  - {name: out/e.py, source: e.py}\n" LANG CASES,
		"task/task.yml:3:12: the name `out/e.py` is taken: `out` is the folder that a step writes to; choose another "
		"one."},
	{"files:\n  - {name: s, source: \"@SUBMISSION@\"}\n  - {name: a/../e.py, source: e.py}\n" LANG CASES,
		"task/task.yml:3:12: The path \"a/../e.py\" does not stay inside its folder; it must be relative, without "
		"empty "
		"parts, \".\" and \"..\"."},
	{"files:\n  - {name: s, source: \"@SUBMISSION@\"}\n  - {name: e.py, source: /etc/passwd}\n" LANG CASES,
		"task/task.yml:3:26: the source `/etc/passwd` is absolute; it must be relative to the task's folder."},
	{"files:\n  - {name: s, source: \"@SUBMISSION@\"}\n  - {name: e.py, source: ../../../../../e.py}\n" LANG CASES,
		"task/task.yml:3:26: the source `../../../../../e.py` leaves the task's folder by 5 levels; it may by at most "
		"4."},
	{"files:\n  - {name: s, source: \"@SUBMISSION@\"}\n  - {name: e.py, source: e.py, mode: 1}\n" LANG CASES,
		"task/task.yml:3:32: unknown key `mode` in `files[1]`; known keys are `name` and `source`."},
	{"files:\n  - {name: s, source: \"@SUBMISSION@\"}\n  - {name: e.py, source: missing.py}\n" LANG CASES,
		"task/task.yml:3:26: the file `missing.py` does not exist."},
};

static void
expect_bad_yml(const struct bad_yml *bad, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		char *scratch = scratch_make();
		AUTO_FREE char *dir = make_task(scratch, bad[i].yml);
		expect_folder(dir, bad[i].sentence);
		scratch_remove(scratch);
	}
}

static void
test_bad_keys(void **state)
{
	(void)state;
	expect_bad_yml(bad_keys, ARRAY_SIZE(bad_keys));
}

static void
test_bad_files(void **state)
{
	(void)state;
	expect_bad_yml(bad_files, ARRAY_SIZE(bad_files));
}

/* A megabyte that would become millions of nodes. */
static void
test_aliases(void **state)
{
	(void)state;
	char *scratch = scratch_make();
	AUTO_BUF struct buf yml = {0};
	buf_adds(&yml, "a0: &a0 [1,1,1,1,1,1,1,1,1,1]\n");
	for (int i = 1; i < 9; i++)
		buf_printf(&yml, "a%d: &a%d [*a%d,*a%d,*a%d,*a%d,*a%d,*a%d,*a%d,*a%d,*a%d]\n", i, i, i - 1, i - 1, i - 1, i - 1,
			i - 1, i - 1, i - 1, i - 1, i - 1);
	while (yml.len < 1000000)
		buf_adds(&yml, "# filler filler filler filler filler filler filler filler filler filler filler filler\n");
	AUTO_FREE char *dir = make_task(scratch, yml.data);
	json_t *bundle = NULL;
	struct kettle_error err = {0};
	assert_int_equal(task_read(languages, dir, &bundle, &err), KETTLE_ETOOBIG);
	assert_non_null(strstr(err.message, "/task/task.yml:"));
	while (yml.len <= 1u << 20)
		buf_adds(&yml, "# filler filler filler filler filler filler filler filler filler filler filler filler\n");
	free(scratch_write(dir, "task.yml", yml.data));
	expect_folder(dir, "task/task.yml: it exceeds the limit of 1 MiB.");
	scratch_remove(scratch);
}

/* ---- bad folders ---- */

static void
test_bad_folders(void **state)
{
	(void)state;
	char *scratch = scratch_make();
	AUTO_FREE char *file = scratch_write(scratch, "a.txt", "x");
	AUTO_BUF struct buf sentence = {0};
	buf_printf(&sentence, "The folder `%s` has no task.yml.", scratch);
	expect_folder(scratch, sentence.data);
	expect_folder(file, "`a.txt` is neither a task's folder nor its task.yml, nor a zip, nor a reference file of a "
						"loaded language: cpp, cu, py.");
	expect_folder("/nonexistent/task", "The task `/nonexistent/task` cannot be read: No such file or directory.");
	AUTO_FREE char *dir = make_task(scratch, "\xff\xfe");
	expect_folder(dir, "task/task.yml:1:1: the file is not UTF-8 text.");
	scratch_remove(scratch);
}

/* What the source of a file may not be on the disk. */
static void
test_special_files(void **state)
{
	(void)state;
	char *scratch = scratch_make();
	AUTO_FREE char *dir = make_task(scratch, FILES LANG CASES), *source = path_join(dir, "e.py");
	AUTO_FREE char *other = scratch_write(scratch, "other.py", "1\n"), *inner = scratch_write(dir, "inner.py", "1\n");
	json_t *bundle = NULL;

	assert_int_equal(unlink(source) || mkfifo(source, 0600), 0);
	expect_folder(dir, "task/task.yml:1:68: `e.py` is a device, a FIFO or a socket, not a regular file.");
	assert_int_equal(unlink(source) || mkdir(source, 0700), 0);
	expect_folder(dir, "task/task.yml:1:68: `e.py` is a folder, not a regular file.");
	assert_int_equal(rmdir(source) || symlink("e.py", source), 0);
	expect_folder(dir, "task/task.yml:1:68: the file `e.py` is a circular link.");
	assert_int_equal(unlink(source) || symlink("../other.py", source), 0);
	expect_folder(dir,
		"task/task.yml:1:68: the file `e.py` is a link out of the task; name the file itself as the source, "
		"with ../ if necessary.");
	assert_int_equal(unlink(source) || symlink("/dev/zero", source), 0);
	expect_folder(dir,
		"task/task.yml:1:68: the file `e.py` is a link out of the task; name the file itself as the source, "
		"with ../ if necessary.");
	assert_int_equal(unlink(source) || symlink("inner.py", source), 0);
	assert_int_equal(task_read(languages, dir, &bundle, NULL), 0);
	json_decref(bundle);
	scratch_remove(scratch);
}

/* A workload for the leaders is kept, and changes no score. */
static void
test_validation(void **state)
{
	(void)state;
	char *scratch = scratch_make();
	AUTO_JSON json_t *plain = NULL, *with = NULL;
	AUTO_FREE char *dir = make_task(scratch, FILES LANG CASES);
	assert_int_equal(task_read(languages, dir, &plain, NULL), 0);
	free(scratch_write(dir, "task.yml", FILES LANG CASES "validation: {version: \"1\", script: v.py, top_k: 3}\n"));
	assert_int_equal(task_read(languages, dir, &with, NULL), 0);
	const json_t *validation = json_object_get(json_object_get(with, "task"), "validation");
	assert_string_equal(json_text_or_null(validation, "script"), "v.py");
	assert_string_equal(json_text_or_null(plain, "hash"), json_text_or_null(with, "hash"));
	free(scratch_write(dir, "task.yml", FILES LANG CASES "validation: v.py\n"));
	expect_folder(dir, "task/task.yml:6:13: validation must be a map, not the string \"v.py\".");
	scratch_remove(scratch);
}

/* What a call must do is a value in each benchmark, and changes no score. */
static void
test_work(void **state)
{
	(void)state;
	static const char head[] = FILES LANG "tests: [{n: 1}]\nbenchmarks: [{n: 7, k: 2}, {n: 8, kind: x}]\n";
	static const char *const bad[] = {"work: {}", "work: {byte: 1}", "work: {bytes: n + m}", "work: {bytes: k}",
		"work: {bytes: 8 - n}", "work:\n  bytes: n\n  operations: 1 / (7 - n)", "work: {bytes: \"\"}",
		"work: {bytes: -1}", "work: {bytes: 1.5}", "work: {bytes: n; n}", "work: {bytes: [n]}", "work: 12 * n",
		"work: {operations: kind}"};
	char *scratch = scratch_make();
	AUTO_JSON json_t *plain = NULL, *with = NULL;
	AUTO_FREE char *dir = make_task(scratch, head);
	assert_int_equal(task_read(languages, dir, &plain, NULL), 0);
	AUTO_FREE char *good = xasprintf("%swork: {bytes: 12 * n, operations: 4096}\n", head);
	free(scratch_write(dir, "task.yml", good));
	assert_int_equal(task_read(languages, dir, &with, NULL), 0);
	assert_string_equal(text_at(at(at(with, "task"), "work"), "bytes"), "12 * n");
	assert_string_equal(text_at(plain, "hash"), text_at(with, "hash"));
	AUTO_FREE char *longest = xasprintf("work: {bytes: \"%01000d\"}", 1);
	for (size_t i = 0; i <= ARRAY_SIZE(bad); i++) {
		AUTO_FREE char *yml = xasprintf("%s%s\n", head, i < ARRAY_SIZE(bad) ? bad[i] : longest);
		json_t *bundle = NULL;
		struct kettle_error err = {0};
		free(scratch_write(dir, "task.yml", yml));
		assert_int_equal(task_read(languages, dir, &bundle, &err), KETTLE_EINVAL);
		assert_sentence(strstr(err.message, "task.yml:"));
	}
	scratch_remove(scratch);
}

/* A link may lead as far as the sources themselves go. */
static void
test_reach(void **state)
{
	(void)state;
	char *scratch = scratch_make();
	AUTO_FREE char *dir = make_task(scratch,
		"files: [{name: s.py, source: \"@SUBMISSION@\"}, {name: e.py, source: e.py}, {name: o.py, source: "
		"../other.py}]\n" LANG CASES);
	AUTO_FREE char *source = path_join(dir, "e.py"), *other = scratch_write(scratch, "other.py", "1\n");
	json_t *bundle = NULL;
	assert_int_equal(unlink(source) || symlink("../other.py", source), 0);
	assert_int_equal(task_read(languages, dir, &bundle, NULL), 0);
	json_decref(bundle);
	assert_int_equal(unlink(source) || symlink("/etc/passwd", source), 0);
	expect_folder(dir,
		"task/task.yml:1:68: the file `e.py` is a link out of the task; name the file itself as the source, "
		"with ../ if necessary.");
	scratch_remove(scratch);
}

/* Exchanges two names until it is stopped. */
struct exchange {
	const char *a, *b;
	int stop;
};

static void *
exchange_names(void *arg)
{
	struct exchange *exchange = arg;
	while (!__atomic_load_n(&exchange->stop, __ATOMIC_RELAXED))
		(void)renameat2(AT_FDCWD, exchange->a, AT_FDCWD, exchange->b, RENAME_EXCHANGE);
	return NULL;
}

/* A file that turns into a link out of the task while the task is read: either it is refused, or the file is read. */
static void
test_changing_link(void **state)
{
	(void)state;
	char *scratch = scratch_make();
	AUTO_FREE char *dir = make_task(scratch, FILES LANG CASES), *source = path_join(dir, "e.py");
	AUTO_FREE char *other = scratch_write(scratch, "other.py", "secret\n"), *link = path_join(dir, "link");
	struct exchange exchange = {.a = source, .b = link};
	pthread_t thread;
	/* Without a look at what was opened, about every tenth meets the change. */
	int secrets = 0, reads = everything_runs() ? 1000 : 200;
	assert_int_equal(symlink(other, link), 0);
	assert_int_equal(pthread_create(&thread, NULL, exchange_names, &exchange), 0);
	for (int i = 0; i < reads; i++) {
		AUTO_JSON json_t *bundle = NULL;
		if (task_read(languages, dir, &bundle, NULL) == 0 &&
			strcmp(text_at(at(at(bundle, "files"), "e.py"), "text"), "secret\n") == 0)
			secrets++;
	}
	__atomic_store_n(&exchange.stop, 1, __ATOMIC_RELAXED);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(secrets, 0);
	scratch_remove(scratch);
}

static void
test_too_big(void **state)
{
	(void)state;
	char *scratch = scratch_make();
	AUTO_FREE char *dir = make_task(scratch, FILES LANG CASES), *source = path_join(dir, "e.py");
	assert_int_equal(truncate(source, (off_t)TASK_MAX_BYTES + 1), 0);
	expect_folder(dir, "task/task.yml:1:68: with `e.py` the task's files together exceed the limit of 32 MiB.");
	scratch_remove(scratch);
}

/* Bytes that are no text travel as they are. */
static void
test_binary(void **state)
{
	(void)state;
	char *scratch = scratch_make();
	AUTO_FREE char *dir = make_task(scratch, FILES LANG CASES), *source = path_join(dir, "e.py");
	json_t *bundle = NULL;
	assert_int_equal(file_write(source, "\0\xff\x01", 3, 0600, NULL), 0);
	assert_int_equal(task_read(languages, dir, &bundle, NULL), 0);
	assert_string_equal(text_at(at(at(bundle, "files"), "e.py"), "base64"), "AP8B");
	json_decref(bundle);
	scratch_remove(scratch);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_python),
	cmocka_unit_test(test_other_forms),
	cmocka_unit_test(test_rows),
	cmocka_unit_test(test_shipped),
	cmocka_unit_test(test_bundle),
	cmocka_unit_test(test_imported),
	cmocka_unit_test(test_hash),
	cmocka_unit_test(test_bad_bundles),
	cmocka_unit_test(test_bad_keys),
	cmocka_unit_test(test_bad_files),
	cmocka_unit_test(test_aliases),
	cmocka_unit_test(test_bad_folders),
	cmocka_unit_test(test_special_files),
	cmocka_unit_test(test_validation),
	cmocka_unit_test(test_work),
	cmocka_unit_test(test_reach),
	cmocka_unit_test(test_changing_link),
	cmocka_unit_test(test_too_big),
	cmocka_unit_test(test_binary),
};

UNIT_TESTS(test_task, .setup = languages_setup, .teardown = languages_teardown);
