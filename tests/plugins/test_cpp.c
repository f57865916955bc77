/* SPDX-License-Identifier: MIT */
/* The language cpp, driven without core and host: what it plans, and what it refuses. */
#include <config.h>

#include <kettle/plugin.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/schema.h"

static void *self;

static const json_t *
at(const json_t *value, const char *key)
{
	return json_object_get(value, key);
}

/* The items of a list of strings, between spaces. */
static char *
joined(const json_t *list)
{
	AUTO_BUF struct buf text = {0};
	size_t i;
	json_t *item;
	json_array_foreach((json_t *)list, i, item)
		buf_printf(&text, "%s%s", i ? " " : "", json_string_value(item));
	return buf_take(&text);
}

static char *
keys(const json_t *object)
{
	AUTO_BUF struct buf text = {0};
	const char *key;
	json_t *value;
	json_object_foreach((json_t *)object, key, value)
		buf_printf(&text, "%s%s", text.len ? " " : "", key);
	return buf_take(&text);
}

/* Plans a task of empty files (names between spaces, the first is the submission) with two runs. */
static int
plan_in(const char *mode, const char *names, const char *config, json_t **ret_plan, struct kettle_error *err)
{
	AUTO_JSON json_t *files = json_object(),
					 *task = json_pack("{s:o, s:[s]}", "config", config ? json_loads(config, 0, NULL) : json_object(),
						 "libraries", "z");
	AUTO_JSON json_t *runs =
		json_pack("[{s:s, s:s, s:[], s:{s:s, s:b, s:[s, s]}}, {s:s, s:s, s:[s], s:{s:s, s:b, s:[s, s]}}]", "id", "test",
			"kind", "run", "needs", "run", "mode", "test", "secret", 0, "args", "test", "cases.txt", "id", "benchmark",
			"kind", "run", "needs", "test", "run", "mode", "benchmark", "secret", 0, "args", "benchmark", "cases.txt");
	AUTO_FREE char *copy = strdup(names), *first = NULL;
	char *rest = NULL;
	for (char *name = strtok_r(copy, " ", &rest); name; name = strtok_r(NULL, " ", &rest)) {
		first = first ? first : strdup(name);
		json_object_set_new(files, name, json_pack("{s:s}", "text", name));
	}
	AUTO_JSON json_t *device = json_pack("{s:s}", "name", "CPU");
	const struct kettle_plan_request request = {.size = sizeof(request),
		.task = task,
		.files = files,
		.submission = first,
		.mode = mode,
		.device = device,
		.runs = runs};
	assert_non_null(at(task, "config"));
	return kettle_plugin.language->plan(self, &request, ret_plan, err);
}

static int
plan(const char *names, const char *config, json_t **ret_plan, struct kettle_error *err)
{
	return plan_in("test", names, config, ret_plan, err);
}

static json_t *
good_plan(const char *names, const char *config)
{
	json_t *made = NULL;
	struct kettle_error err = {0};
	if (plan(names, config, &made, &err))
		fail_msg("%s", err.message);
	return made;
}

static const json_t *
step(const json_t *made, const char *id)
{
	size_t i;
	json_t *one;
	json_array_foreach(at(made, "steps"), i, one) {
		if (strcmp(json_string_value(at(one, "id")), id) == 0)
			return one;
	}
	fail_msg("no step %s", id);
	return NULL;
}

static void
expect_argv(const json_t *made, const char *id, const char *wanted)
{
	AUTO_FREE char *argv = joined(at(step(made, id), "argv"));
	assert_string_equal(argv, wanted);
}

static void
expect_inputs(const json_t *made, const char *id, const char *wanted)
{
	AUTO_FREE char *inputs = keys(at(step(made, id), "inputs"));
	assert_string_equal(inputs, wanted);
}

/* The harness's object depends on nothing that a participant writes. */
static void
test_plan(void **state)
{
	(void)state;
	AUTO_JSON json_t *made = good_plan("submission.cpp eval.cpp task.h data.bin", NULL);
	assert_int_equal(json_array_size(at(made, "steps")), 5);
	expect_argv(
		made, "compile-0", "g++ -std=c++17 -O3 -march=native -fopenmp -c submission.cpp -o out/submission.cpp.o");
	expect_argv(made, "compile-1", "g++ -std=c++17 -O3 -march=native -fopenmp -c eval.cpp -o out/eval.cpp.o");
	expect_inputs(made, "compile-0", "submission.cpp task.h data.bin");
	expect_inputs(made, "compile-1", "eval.cpp task.h data.bin");
	expect_argv(made, "link", "g++ -O3 -march=native -fopenmp submission.cpp.o eval.cpp.o -o out/program -lz -lm");
	expect_inputs(made, "link", "submission.cpp.o eval.cpp.o");
	AUTO_FREE char *needs = joined(at(step(made, "link"), "needs"));
	assert_string_equal(needs, "compile-0 compile-1");
	assert_true(json_is_true(at(step(made, "link"), "cache")) && json_is_true(at(step(made, "compile-1"), "cache")));
	assert_null(at(step(made, "compile-0"), "needs"));
	const json_t *object = at(at(step(made, "link"), "inputs"), "eval.cpp.o");
	assert_string_equal(json_string_value(at(object, "step")), "compile-1");
	assert_string_equal(json_string_value(at(object, "output")), "eval.cpp.o");
}

static void
test_runs(void **state)
{
	(void)state;
	AUTO_JSON json_t *made = good_plan("submission.cpp eval.cpp task.h data.bin", NULL);
	expect_argv(made, "test", "./program test cases.txt");
	expect_argv(made, "benchmark", "./program benchmark cases.txt");
	expect_inputs(made, "test", "data.bin program");
	AUTO_FREE char *first = joined(at(step(made, "test"), "needs")),
				   *second = joined(at(step(made, "benchmark"), "needs"));
	assert_string_equal(first, "link");
	assert_string_equal(second, "test");
	assert_string_equal(json_string_value(at(at(at(step(made, "test"), "inputs"), "data.bin"), "file")), "data.bin");
}

/* A profile is under perf, and of code with frame pointers; no other run is. */
static void
test_profile(void **state)
{
	(void)state;
	AUTO_JSON json_t *made = NULL;
	AUTO_JSON json_t *plain = good_plan("a.cpp", NULL);
	struct kettle_error err = {0};
	assert_int_equal(plan_in("profile", "a.cpp", NULL, &made, &err), 0);
	AUTO_FREE char *files = joined(at(step(made, "test"), "artifacts")),
				   *argv = joined(at(step(made, "compile-0"), "argv"));
	assert_string_equal(json_string_value(at(step(made, "test"), "profile")), "perf");
	assert_string_equal(files, "flamegraph.svg stacks.txt");
	assert_non_null(strstr(argv, " -fno-omit-frame-pointer "));
	assert_null(at(step(plain, "test"), "profile"));
	assert_null(at(step(made, "link"), "profile"));
}

static void
test_config(void **state)
{
	(void)state;
	AUTO_JSON json_t *made = good_plan("submission.h a/eval.cc b.c ref.cpp",
		"{\"sources\": [\"a/eval.cc\", \"b.c\"], \"include_dirs\": [\".\"], \"defines\": {\"N\": \"4\", \"M\": 5, "
		"\"Q\": "
		"null, \"B\": true}, \"compile_flags\": [\"-Wall\"], \"libraries\": [\"rt\"], \"standard\": \"c++20\"}");
	expect_argv(made, "compile-0",
		"g++ -std=c++20 -O3 -march=native -fopenmp -DN=4 -DM=5 -DQ -DB=1 -I. -Wall -c a/eval.cc -o out/eval.cc.o");
	expect_argv(made, "compile-1",
		"gcc -std=gnu11 -O3 -march=native -fopenmp -DN=4 -DM=5 -DQ -DB=1 -I. -Wall -c b.c -o out/b.c.o");
	expect_argv(made, "link", "g++ -O3 -march=native -fopenmp -Wall a/eval.cc.o b.c.o -o out/program -lrt -lz -lm");
	/* A submission that is a header reaches every source, and so does a .cpp that is included, not compiled. */
	expect_inputs(made, "compile-1", "submission.h b.c ref.cpp");
	expect_inputs(made, "test", "program");
}

static void
test_c_only(void **state)
{
	(void)state;
	AUTO_JSON json_t *made =
		good_plan("submission.c eval.C", "{\"sources\": [\"submission.c\"], \"standard\": \"c99\"}");
	expect_argv(made, "compile-0", "gcc -std=c99 -O3 -march=native -fopenmp -c submission.c -o out/submission.c.o");
	expect_argv(made, "link", "gcc -O3 -march=native -fopenmp submission.c.o -o out/program -lz -lm");
}

static void
test_refuses(void **state)
{
	static const struct {
		const char *names, *config, *sentence;
	} bad[] = {
		{"s.cpp", "{\"sources\": [\"s.cpp\", \"eval.cpp\"]}",
			"The task's config lists `eval.cpp` in `sources`, but no entry of its `files` has that name."},
		{"s.cpp t.h", "{\"sources\": [\"t.h\"]}",
			"The task's config lists `t.h` in `sources`, but a source in C or C++ ends in .cpp, .cc, .cxx or .c."},
		{"s.cpp", "{\"sources\": [\"s.cpp\", \"s.cpp\"]}", "The task's config lists `s.cpp` twice in `sources`."},
		{"s.h t.txt", NULL, "The task has nothing to compile: none of its files ends in .cpp, .cc, .cxx or .c."},
		{"s.cpp program", NULL,
			"The task has a file `program`, which is the name that the built program gets; name it otherwise."},
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		json_t *made = NULL;
		struct kettle_error err = {0};
		assert_int_equal(plan(bad[i].names, bad[i].config, &made, &err), KETTLE_EINVAL);
		assert_null(made);
		assert_string_equal(err.message, bad[i].sentence);
	}
}

static void
test_config_schema(void **state)
{
	static const char *const bad[] = {"{\"source\": [\"a\"]}", "{\"sources\": []}", "{\"sources\": \"a.cpp\"}",
		"{\"defines\": {\"a b\": \"1\"}}", "{\"defines\": {\"a\": [1]}}", "{\"standard\": \"c++17 -x\"}",
		"{\"compile_flags\": [1]}"};
	static const char *const good[] = {"{}", "{\"standard\": \"gnu++2a\", \"defines\": {\"A\": null}}"};
	(void)state;
	AUTO_JSON json_t *schema = NULL;
	struct kettle_error err = {0};
	if (schema_load(kettle_plugin.language->config_schema, &schema, &err))
		fail_msg("%s", err.message);
	for (size_t i = 0; i < ARRAY_SIZE(bad) + ARRAY_SIZE(good); i++) {
		const char *text = i < ARRAY_SIZE(bad) ? bad[i] : good[i - ARRAY_SIZE(bad)];
		AUTO_JSON json_t *config = json_loads(text, 0, NULL);
		assert_non_null(config);
		assert_int_equal(schema_check(schema, config, NULL, NULL, &err) == 0, i >= ARRAY_SIZE(bad));
	}
}

/* Two instances keep their options apart. */
static void
test_options(void **state)
{
	(void)state;
	void *other = NULL, *mine = self;
	AUTO_JSON json_t *options =
		json_pack("{s:s, s:s, s:s, s:[s]}", "cxx", "clang++", "cc", "clang", "march", "", "flags", "-fno-math-errno");
	assert_int_equal(kettle_plugin.create(NULL, &other, NULL), 0);
	assert_int_equal(kettle_plugin.configure(other, options, NULL), 0);
	self = other;
	AUTO_JSON json_t *made = good_plan("s.cpp", NULL);
	self = mine;
	expect_argv(made, "compile-0", "clang++ -std=c++17 -O3 -fopenmp -fno-math-errno -c s.cpp -o out/s.cpp.o");
	AUTO_JSON json_t *usual = good_plan("s.cpp", NULL);
	expect_argv(usual, "compile-0", "g++ -std=c++17 -O3 -march=native -fopenmp -c s.cpp -o out/s.cpp.o");
	kettle_plugin.destroy(other);
}

static void
test_table(void **state)
{
	(void)state;
	const struct kettle_language *language = kettle_plugin.language;
	assert_int_equal(kettle_plugin.magic, KETTLE_PLUGIN_MAGIC);
	assert_string_equal(kettle_plugin.name, "cpp");
	assert_string_equal(language->aliases[0], "c++");
	assert_string_equal(language->comment, "//");
	assert_true(language->skeletons_count > 0 && language->harness_count > 0);
	for (size_t i = 0; i < kettle_plugin.options_count; i++)
		assert_non_null(kettle_plugin.options[i].help);
	kettle_plugin.destroy(NULL);
}

/* The manual page as plain text: no backslashes. */
static char *
read_manual(void)
{
	AUTO_BUF struct buf path = {0};
	char *text = NULL, *to;
	size_t size = 0;
	buf_printf(&path, "%s/plugins/languages/cpp/kettle-cpp.7", getenv("top_srcdir"));
	assert_int_equal(file_read(path.data, 1 << 20, &text, &size, NULL), 0);
	to = text;
	for (const char *from = text; *from; from++)
		if (*from != '\\')
			*to++ = *from;
	*to = '\0';
	return text;
}

/* Options, their help and the keys of config stand in the manual. */
static void
test_manual(void **state)
{
	(void)state;
	AUTO_FREE char *manual = read_manual();
	AUTO_JSON json_t *schema = json_loads(kettle_plugin.language->config_schema, 0, NULL);
	const char *key;
	json_t *value;
	for (size_t i = 0; i < kettle_plugin.options_count; i++) {
		AUTO_BUF struct buf entry = {0};
		buf_printf(&entry, ".BR %s \"", kettle_plugin.options[i].key);
		if (!strstr(manual, entry.data) || !strstr(manual, kettle_plugin.options[i].help))
			fail_msg("the manual lacks %s: %s", kettle_plugin.options[i].key, kettle_plugin.options[i].help);
	}
	json_object_foreach(json_object_get(schema, "properties"), key, value) {
		AUTO_BUF struct buf entry = {0};
		buf_printf(&entry, ".BR %s \"", key);
		if (!strstr(manual, entry.data))
			fail_msg("the manual lacks the configuration %s", key);
	}
}

/* A library that is missing is the machine's fault, when the program is linked and when it starts; all else is not. */
static void
test_explains(void **state)
{
	static const struct {
		const char *kind, *text, *sentence;
		int status;
	} cases[] = {
		{"build", "/usr/bin/ld: cannot find -lfftw3: No such file or directory\n",
			"The board's machine lacks the library `fftw3`: install its development package.", 1},
		{"run",
			"./program: error while loading shared libraries: libfftw3.so.3: cannot open shared object file: No such "
			"file "
			"or directory\n",
			"The board's machine lacks the library `libfftw3.so.3` where programs run: install its package.", 127},
		{"build", "s.cpp:1:1: error: no\n", NULL, 1},
		{"run", "error while loading shared libraries: libx.so: cannot open shared object file\n", NULL, 1},
	};
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		AUTO_JSON json_t *step = json_pack("{s:s}", "kind", cases[i].kind), *said = NULL;
		AUTO_JSON json_t *outcome = json_pack(
			"{s:s, s:i, s:{s:s}}", "state", "failed", "exit", cases[i].status, "stderr", "text", cases[i].text);
		struct kettle_error err = {0};
		int rc = kettle_plugin.language->interpret(self, step, outcome, &said, &err);
		assert_int_equal(rc, cases[i].sentence ? 0 : KETTLE_ENOENT);
		if (!cases[i].sentence)
			continue;
		assert_string_equal(json_string_value(at(said, "message")), cases[i].sentence);
		assert_string_equal(json_string_value(at(said, "blame")), "machine");
	}
}

static int
setup(void **state)
{
	(void)state;
	AUTO_JSON json_t *options = json_pack("{s:s, s:s, s:s}", "cxx", "g++", "cc", "gcc", "march", "native");
	return kettle_plugin.create(NULL, &self, NULL) || kettle_plugin.configure(self, options, NULL);
}

static int
teardown(void **state)
{
	(void)state;
	kettle_plugin.destroy(self);
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_explains),
		cmocka_unit_test(test_plan),
		cmocka_unit_test(test_runs),
		cmocka_unit_test(test_config),
		cmocka_unit_test(test_profile),
		cmocka_unit_test(test_c_only),
		cmocka_unit_test(test_refuses),
		cmocka_unit_test(test_config_schema),
		cmocka_unit_test(test_options),
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_manual),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
