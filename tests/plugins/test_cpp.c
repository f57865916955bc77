/* SPDX-License-Identifier: MIT */
/* The language cpp, driven without core and host: what it plans, and what it refuses. */
#include <config.h>

#include <kettle/plugin.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_access.h"
#include "lib/unit_test.h"
#include "plugins/plans.h"

#define FILES "submission.cpp eval.cpp task.h data.bin"

/* The harness's object depends on nothing that a participant writes. */
static void
test_plan(void **state)
{
	(void)state;
	AUTO_JSON json_t *made = plans_good(FILES, NULL, NULL);
	assert_int_equal(json_array_size(json_object_get(made, "steps")), 7);
	plans_expect(made, "compile-0", "argv",
		"g++ -std=c++17 -O3 -march=native -fopenmp -c submission.cpp -o out/submission.cpp.o");
	plans_expect(made, "compile-1", "argv", "g++ -std=c++17 -O3 -march=native -fopenmp -c eval.cpp -o out/eval.cpp.o");
	plans_expect(made, "compile-0", "inputs", "submission.cpp task.h data.bin");
	plans_expect(made, "compile-1", "inputs", "eval.cpp task.h data.bin");
	plans_expect(
		made, "link", "argv", "g++ -O3 -march=native -fopenmp submission.cpp.o eval.cpp.o -o out/program -lz -lm");
	plans_expect(made, "link", "inputs", "submission.cpp.o eval.cpp.o");
	plans_expect(made, "link", "needs", "apart compile-1");
	/* The submission's object gives the program only what the task's lacks. */
	plans_expect(made, "wanted", "inputs", "eval.cpp.o");
	plans_expect(made, "apart", "inputs", "submission.cpp.o wanted");
	const json_t *own = json_object_get(json_object_get(plans_step(made, "link"), "inputs"), "submission.cpp.o");
	assert_string_equal(json_text_or_empty(own, "step"), "apart");
	assert_true(member_true(plans_step(made, "link"), "cache") && member_true(plans_step(made, "compile-1"), "cache"));
	assert_null(json_object_get(plans_step(made, "compile-0"), "needs"));
	const json_t *object = json_object_get(json_object_get(plans_step(made, "link"), "inputs"), "eval.cpp.o");
	assert_string_equal(json_text_or_empty(object, "step"), "compile-1");
	assert_string_equal(json_text_or_empty(object, "output"), "eval.cpp.o");
}

static void
test_runs(void **state)
{
	(void)state;
	AUTO_JSON json_t *made = plans_good(FILES, NULL, NULL);
	plans_expect(made, "test", "argv", "./program test cases.txt");
	plans_expect(made, "benchmark", "argv", "./program benchmark cases.txt");
	plans_expect(made, "test", "inputs", "data.bin program");
	plans_expect(made, "test", "needs", "link");
	plans_expect(made, "benchmark", "needs", "test");
	const json_t *inputs = json_object_get(plans_step(made, "test"), "inputs");
	assert_string_equal(json_text_or_empty(json_object_get(inputs, "data.bin"), "file"), "data.bin");
}

/* A profile is under perf, and of code with frame pointers; no other run is. */
static void
test_profile(void **state)
{
	(void)state;
	plans_profile("a.cpp", NULL, "perf", "flamegraph.svg stacks.txt", "\"-fno-omit-frame-pointer\"");
}

static void
test_config(void **state)
{
	(void)state;
	AUTO_JSON json_t *made = plans_good("submission.h a/eval.cc b.c ref.cpp",
		"{\"sources\": [\"a/eval.cc\", \"b.c\"], \"include_dirs\": [\".\"], \"defines\": {\"N\": \"4\", \"M\": 5, "
		"\"Q\": "
		"null, \"B\": true}, \"compile_flags\": [\"-Wall\"], \"libraries\": [\"rt\"], \"standard\": \"c++20\"}",
		NULL);
	plans_expect(made, "compile-0", "argv",
		"g++ -std=c++20 -O3 -march=native -fopenmp -DN=4 -DM=5 -DQ -DB=1 -I. -Wall -c a/eval.cc -o out/eval.cc.o");
	plans_expect(made, "compile-1", "argv",
		"gcc -std=gnu11 -O3 -march=native -fopenmp -DN=4 -DM=5 -DQ -DB=1 -I. -Wall -c b.c -o out/b.c.o");
	plans_expect(
		made, "link", "argv", "g++ -O3 -march=native -fopenmp -Wall a/eval.cc.o b.c.o -o out/program -lrt -lz -lm");
	/* A submission that is a header reaches every source, and so does a .cpp that is included, not compiled. */
	plans_expect(made, "compile-1", "inputs", "submission.h b.c ref.cpp");
	plans_expect(made, "test", "inputs", "program");
}

static void
test_c_only(void **state)
{
	(void)state;
	AUTO_JSON json_t *made =
		plans_good("submission.c eval.C", "{\"sources\": [\"submission.c\"], \"standard\": \"c99\"}", NULL);
	plans_expect(
		made, "compile-0", "argv", "gcc -std=c99 -O3 -march=native -fopenmp -c submission.c -o out/submission.c.o");
	plans_expect(made, "link", "argv", "gcc -O3 -march=native -fopenmp submission.c.o -o out/program -lz -lm");
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
		{"s.cpp program", NULL, "The task has a file `program`, which is the name of the built program; rename it."},
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		plans_refused(bad[i].names, bad[i].config, NULL, KETTLE_EINVAL, bad[i].sentence);
}

static void
test_config_schema(void **state)
{
	static const char *const bad[] = {"{\"source\": [\"a\"]}", "{\"sources\": []}", "{\"sources\": \"a.cpp\"}",
		"{\"defines\": {\"a b\": \"1\"}}", "{\"defines\": {\"a\": [1]}}", "{\"standard\": \"c++17 -x\"}",
		"{\"compile_flags\": [1]}", NULL};
	static const char *const good[] = {"{}", "{\"standard\": \"gnu++2a\", \"defines\": {\"A\": null}}", NULL};
	(void)state;
	plans_schema(good, bad);
}

/* Two instances keep their options apart. */
static void
test_options(void **state)
{
	(void)state;
	void *mine = plans_self;
	void *other = plans_instance(
		json_pack("{s:s, s:s, s:s, s:[s]}", "cxx", "clang++", "cc", "clang", "march", "", "flags", "-fno-math-errno"));
	plans_self = other;
	AUTO_JSON json_t *made = plans_good("s.cpp", NULL, NULL);
	plans_self = mine;
	plans_expect(made, "compile-0", "argv", "clang++ -std=c++17 -O3 -fopenmp -fno-math-errno -c s.cpp -o out/s.cpp.o");
	AUTO_JSON json_t *usual = plans_good("s.cpp", NULL, NULL);
	plans_expect(usual, "compile-0", "argv", "g++ -std=c++17 -O3 -march=native -fopenmp -c s.cpp -o out/s.cpp.o");
	kettle_plugin.destroy(other);
}

static void
test_table(void **state)
{
	(void)state;
	plans_table("cpp", "//", "plugins/languages/cpp/kettle-cpp.7");
	assert_string_equal(kettle_plugin.language->aliases[0], "c++");
}

/* A library that is missing when the task is linked is the machine's fault; all that a submission can say is not. */
static void
test_explains(void **state)
{
	static const char missing[] = "/usr/bin/ld: cannot find -lfftw3: No such file or directory\n";
	static const char unloaded[] =
		"./program: error while loading shared libraries: libfftw3.so.3: cannot open shared object file: No such file "
		"or directory\n";
	static const char lacks[] = "The machine lacks the library `fftw3`: install its development package.";
	static const struct {
		const char *kind, *text, *sentence;
		bool task_only;
		int status;
	} cases[] = {
		{"build", missing, lacks, true, 1},
		{"build", missing, NULL, false, 1},
		{"build", "s.cpp:1:1: error: no\n", NULL, true, 1},
		{"run", unloaded, NULL, false, 127},
		{"run", unloaded, NULL, false, 1},
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO_JSON json_t *step =
			json_pack("{s:s, s:b, s:[s]}", "kind", cases[i].kind, "task_only", cases[i].task_only, "argv", "-lfftw3");
		AUTO_FREE char *text = json_dumps(step, 0);
		AUTO_JSON json_t *outcome = json_pack(
			"{s:s, s:i, s:{s:s}}", "state", "failed", "exit", cases[i].status, "stderr", "text", cases[i].text);
		plans_explained(text, outcome, cases[i].sentence ? "error" : NULL, "machine", cases[i].sentence);
	}
}

static int
setup(void **state)
{
	(void)state;
	plans_self = plans_instance(json_pack("{s:s, s:s, s:s}", "cxx", "g++", "cc", "gcc", "march", "native"));
	return 0;
}

static const struct CMUnitTest tests[] = {
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
};

UNIT_TESTS(test_cpp, .setup = setup, .teardown = plans_teardown);
