/* SPDX-License-Identifier: MIT */
/* What the language py makes of outcomes: sentences for people out of what interpreters and compilers print. */
#include <config.h>

#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "explain.h"
#include "lib/unit_test.h"

#define FRAME(file, line, function) "  File \"" file "\", line " #line ", in " function "\n    some code\n"
#define TRACEBACK "Traceback (most recent call last):\n"
#define OWN FRAME("/job/submission.py", 12, "custom_kernel")
#define TASK FRAME("/job/reference.py", 3, "<module>")
#define HARNESS FRAME("/job/eval.py", 90, "main") FRAME("/usr/lib/python3.11/multiprocessing/pool.py", 774, "get")
#define POOL(error) \
	"multiprocessing.pool.RemoteTraceback: \n\"\"\"\n" TRACEBACK HARNESS OWN FRAME( \
		"/job/submission.py", 2, "<lambda>") error \
		"\n\"\"\"\n\nThe above exception was the direct cause of the following exception:\n\n" TRACEBACK HARNESS error \
		"\n"

struct given {
	const char *kind, *state, *limit, *text, *key, *value; /* of the step and its outcome; one reported value */
	int exit;
};

/* The verdict; NULL: nothing to add. New reference. */
static json_t *
explain(struct given given)
{
	AUTO_JSON json_t *step = json_pack("{s:s, s:{s:s}, s:{s:s, s:s}}", "kind", given.kind ? given.kind : "run", "run",
		"mode", "test", "env", EXPLAIN_SUBMISSION, "submission.py", EXPLAIN_DEVICE, "CPU");
	AUTO_JSON json_t *outcome = json_pack("{s:s, s:s?, s:i, s:{s:s}, s:{}, s:{s:s, s:s}}", "state",
		given.state ? given.state : "failed", "limit", given.limit, "exit", given.exit ? given.exit : 1, "stderr",
		"text", given.text ? given.text : "", "result", "packages", "numpy", "1.24.2", "scipy", "1.10");
	json_t *verdict = NULL;
	struct kettle_error err = {0};
	assert_non_null(outcome);
	if (given.key)
		json_object_set_new(json_object_get(outcome, "result"), given.key, json_string(given.value));
	int rc = explain_outcome(NULL, step, outcome, &verdict, &err);
	assert_int_equal(rc, verdict ? 0 : KETTLE_ENOENT);
	return verdict;
}

static void
expect(struct given given, const char *state, const char *blame, const char *message)
{
	AUTO_JSON json_t *verdict = explain(given);
	assert_non_null(verdict);
	assert_string_equal(json_string_value(json_object_get(verdict, "message")), message);
	assert_string_equal(json_string_value(json_object_get(verdict, "state")), state);
	assert_string_equal(json_string_value(json_object_get(verdict, "blame")), blame);
	assert_true(json_is_false(json_object_get(verdict, "retry")));
	assert_true(json_is_false(json_object_get(verdict, "passed")));
}

static void
test_modules(void **state)
{
	static const char sentence[] = "The machine lacks `torch`; it has numpy 1.24.2, scipy 1.10.";
	(void)state;
	expect((struct given){.text = POOL("ModuleNotFoundError: No module named 'torch'")}, "failed", "participant",
		sentence);
	expect((struct given){.text = TRACEBACK HARNESS TASK "ModuleNotFoundError: No module named 'torch'\n"}, "error",
		"machine", sentence);
	expect((struct given){.key = "test.0.error", .value = "ModuleNotFoundError: No module named 'torch'", .exit = 112},
		"failed", "participant", sentence);
	/* What was caught, or merely printed, explains nothing. */
	assert_null(explain((struct given){.text = "No module named 'torch'\n"}));
	assert_null(explain(
		(struct given){.state = "passed", .text = TRACEBACK OWN "ModuleNotFoundError: No module named 'torch'\n"}));
}

static void
test_devices(void **state)
{
	(void)state;
	expect((struct given){.text = TRACEBACK HARNESS TASK "RuntimeError: Found no NVIDIA driver on your system.\n"},
		"error", "task", "This task needs a CUDA device; CPU has none.");
	expect((struct given){.text = POOL("RuntimeError: No CUDA GPUs are available")}, "failed", "participant",
		"The submission needs a CUDA device; CPU has none.");
	expect((struct given){.key = "test.0.error", .value = "AssertionError: Torch not compiled with CUDA enabled"},
		"error", "task", "This task needs a CUDA device; CPU has none.");
}

static void
test_exceptions(void **state)
{
	(void)state;
	expect((struct given){.text = POOL("ValueError: no")}, "failed", "participant",
		"The test run failed: ValueError: no (submission.py line 12 in custom_kernel, line 2).");
	/* Without a frame of the submission there is nothing to add. */
	assert_null(explain((struct given){.text = TRACEBACK HARNESS TASK "ValueError: no\n"}));
	assert_null(explain((struct given){.text = ""}));
	/* A harness that reported has its own words. */
	assert_null(explain((struct given){.text = POOL("ValueError: no"), .key = "check", .value = "fail", .exit = 112}));
	AUTO_JSON json_t *cut = explain((struct given){
		.text = TRACEBACK OWN OWN OWN OWN
		"ValueError: "
		"0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789"
		"01234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789"
		"01"
		"01234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789"
		"\n"});
	const char *message = json_string_value(json_object_get(cut, "message"));
	assert_non_null(strstr(message, "… (submission.py line 12 in custom_kernel, line 12 in custom_kernel, line 12"));
}

static void
test_crashes(void **state)
{
	static const char crash[] =
		"Fatal Python error: Segmentation fault\n\nCurrent thread 0x1 (most recent call first):\n"
		"  File \"/usr/lib/python3.11/ctypes/__init__.py\", line 5 in string_at\n"
		"  File \"/job/submission.py\", line 9 in custom_kernel\n"
		"  File \"/job/submission.py\", line 20 in outer\n";
	(void)state;
	expect((struct given){.text = crash}, "failed", "participant",
		"A process of the test run crashed: Segmentation fault (submission.py line 9 in custom_kernel).");
	expect((struct given){.text = crash, .state = "limit", .limit = "wall"}, "timed_out", "participant",
		"A process of the test run crashed: Segmentation fault (submission.py line 9 in custom_kernel). The run waited "
		"for this process until the time limit.");
	assert_null(explain((struct given){.text = "", .state = "limit", .limit = "wall"}));
	assert_null(explain((struct given){.text = crash, .state = "limit", .limit = "memory"}));
}

static void
test_compilation(void **state)
{
	(void)state;
	expect((struct given){.kind = "prepare",
			   .text = "[1/2] c++ x\nmain.cpp: In function\nmain.cpp:3:7: error: 'x' was not\n"},
		"failed", "participant", "The submission's extension does not compile: main.cpp:3:7: error: 'x' was not");
	expect((struct given){.kind = "prepare",
			   .text = "/usr/include/torch/x.h:1:10: fatal error: pybind11/pybind11.h: No such file or directory\n"},
		"failed", "participant",
		"The submission's extension does not compile: it needs the header `pybind11/pybind11.h`, which the machine "
		"lacks.");
	expect((struct given){.kind = "prepare",
			   .text = "/job/out/cache/main.cpp:1:10: fatal error: my.h: No such file or directory\n"},
		"failed", "participant",
		"The submission's extension does not compile: /job/out/cache/main.cpp:1:10: fatal error: my.h: No such file or "
		"directory");
	assert_null(explain((struct given){.kind = "prepare", .text = "something else\n"}));
}

/* Whatever is printed, it is read within its bounds. */
static void
test_garbage(void **state)
{
	static const char *const texts[] = {TRACEBACK, TRACEBACK "  File \"", TRACEBACK "  File \"x\", line ",
		TRACEBACK "  File \"/job/submission.py\", line 99999999999999999999", TRACEBACK "E",
		"Fatal Python error: ", "Fatal Python error: x\n  File \"/submission.py\", line 1 in ",
		TRACEBACK OWN TRACEBACK OWN, TRACEBACK OWN "E: No module named '"};
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		json_decref(explain((struct given){.text = texts[i]}));
		json_decref(explain((struct given){.text = texts[i], .state = "limit", .limit = "wall"}));
		json_decref(explain((struct given){.kind = "prepare", .text = texts[i]}));
	}
}

/* As much as the result channel takes, in as many values as it takes; and lines that begin as frames and are none. */
static void
test_much(void **state)
{
	(void)state;
	AUTO_JSON json_t *step = json_pack("{s:s, s:{s:s}}", "kind", "run", "run", "mode", "test");
	AUTO_JSON json_t *result = json_object();
	AUTO_BUF struct buf text = {0};
	for (int i = 0; i < 20000; i++) {
		char key[32];
		(void)snprintf(key, sizeof(key), "test.%d.error", i);
		json_object_set_new(result, key, json_string("it is wrong by an unknown number"));
		buf_adds(&text, i ? "  File \"\n" : "Traceback (most recent call last):\n");
	}
	json_object_set_new(result, "test.1.message", json_string("No module named 'torch'"));
	AUTO_JSON json_t *outcome = json_pack(
		"{s:s, s:i, s:{s:s}, s:O}", "state", "failed", "exit", 112, "stderr", "text", text.data, "result", result);
	AUTO_JSON json_t *verdict = NULL;
	assert_int_equal(explain_outcome(NULL, step, outcome, &verdict, NULL), 0);
	assert_string_equal(json_string_value(json_object_get(verdict, "message")), "The machine lacks `torch`.");
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_modules),
	cmocka_unit_test(test_devices),
	cmocka_unit_test(test_exceptions),
	cmocka_unit_test(test_crashes),
	cmocka_unit_test(test_compilation),
	cmocka_unit_test(test_garbage),
	cmocka_unit_test(test_much),
};

UNIT_TESTS(test_py_explain);
