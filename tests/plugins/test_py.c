/* SPDX-License-Identifier: MIT */
/* The language py, driven without core and host: what it plans, and what it refuses. */
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

static const char *
text_at(const json_t *value, const char *key)
{
	return json_string_value(at(value, key));
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

/* A task of files (the first is the submission, with the text given), planned with a public and a secret run. */
struct given {
	const char *names, *text, *main, *device;
};

static int
plan_in(const char *mode, struct given given, json_t **ret_plan, struct kettle_error *err)
{
	AUTO_JSON json_t *files = json_object();
	AUTO_JSON json_t *task = json_pack("{s:{s:s}}", "config", "main", given.main ? given.main : "eval.py");
	AUTO_JSON json_t *runs = json_pack("[{s:s, s:s, s:[], s:{s:s, s:b, s:[s, s]}, s:{s:i}}, {s:s, s:s, s:[s], s:{s:s, "
									   "s:b, s:[s, s]}, s:{s:s}, s:{s:s}}]",
		"id", "test", "kind", "run", "needs", "run", "mode", "test", "secret", 0, "args", "test", "cases.txt", "limits",
		"wall", 9, "id", "secret-test", "kind", "run", "needs", "test", "run", "mode", "test", "secret", 1, "args",
		"test", "cases.txt", "secret", "POPCORN_SEED", "5", "env", "POPCORN_GPUS", "2");
	AUTO_FREE char *copy = strdup(given.names), *first = NULL;
	char *rest = NULL;
	for (char *name = strtok_r(copy, " ", &rest); name; name = strtok_r(NULL, " ", &rest)) {
		json_object_set_new(files, name, json_pack("{s:s}", "text", first ? name : given.text ? given.text : ""));
		first = first ? first : strdup(name);
	}
	AUTO_JSON json_t *device = json_loads(given.device ? given.device : "{\"name\": \"CPU\"}", 0, NULL);
	const struct kettle_plan_request request = {.size = sizeof(request),
		.task = task,
		.files = files,
		.submission = first,
		.mode = mode,
		.device = device,
		.runs = runs};
	assert_non_null(runs);
	return kettle_plugin.language->plan(self, &request, ret_plan, err);
}

static int
plan(struct given given, json_t **ret_plan, struct kettle_error *err)
{
	return plan_in("ranked", given, ret_plan, err);
}

static json_t *
good_plan(struct given given)
{
	json_t *made = NULL;
	struct kettle_error err = {0};
	if (plan(given, &made, &err))
		fail_msg("%s", err.message);
	return made;
}

static const json_t *
step(const json_t *made, const char *id)
{
	size_t i;
	json_t *one;
	json_array_foreach(at(made, "steps"), i, one) {
		if (strcmp(text_at(one, "id"), id) == 0)
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

static const char plain[] = "submission.py task.py eval.py data.bin";

static void
test_plan(void **state)
{
	(void)state;
	AUTO_JSON json_t *made = good_plan((struct given){plain, NULL, NULL, NULL});
	assert_int_equal(json_array_size(at(made, "steps")), 3);
	expect_argv(made, "test", "python3 .kettle/run.py eval.py test cases.txt");
	AUTO_FREE char *inputs = keys(at(step(made, "test"), "inputs")), *files = keys(at(made, "files"));
	assert_string_equal(inputs, ".kettle/run.py submission.py task.py eval.py data.bin __pycache__");
	assert_string_equal(files, "submission.py task.py eval.py data.bin .kettle/compile.py .kettle/run.py");
	assert_non_null(strstr(text_at(at(at(made, "files"), ".kettle/run.py"), "text"), "SPDX-License-Identifier"));
	AUTO_FREE char *needs = joined(at(step(made, "secret-test"), "needs"));
	assert_string_equal(needs, "test");
	assert_int_equal(json_array_size(at(step(made, "test"), "needs")), 0);
	assert_int_equal(json_integer_value(at(at(step(made, "test"), "limits"), "wall")), 9);
}

/* What the task brings is compiled once, by a step that has nothing of the submission. */
static void
test_bytecode(void **state)
{
	(void)state;
	AUTO_JSON json_t *made =
		good_plan((struct given){"submission.py task.py eval.py in/side.py a-b.py x.bin", NULL, NULL, NULL});
	const json_t *compile = step(made, "bytecode");
	assert_string_equal(text_at(compile, "kind"), "build");
	assert_true(json_is_true(at(compile, "cache")));
	expect_argv(made, "bytecode", "python3 .kettle/compile.py task.py eval.py");
	AUTO_FREE char *inputs = keys(at(compile, "inputs")), *outputs = joined(at(compile, "outputs"));
	assert_string_equal(inputs, ".kettle/compile.py task.py eval.py");
	assert_string_equal(outputs, "__pycache__");
	for (int i = 0; i < 2; i++) {
		const json_t *input = at(at(step(made, i ? "secret-test" : "test"), "inputs"), "__pycache__");
		assert_string_equal(text_at(input, "step"), "bytecode");
		assert_string_equal(text_at(input, "output"), "__pycache__");
	}
	AUTO_JSON json_t *own = good_plan((struct given){"submission.py eval.py __pycache__/x.pyc", NULL, NULL, NULL});
	assert_int_equal(json_array_size(at(own, "steps")), 2);
}

/* A seed comes by descriptor, never by the environment. */
static void
test_secret(void **state)
{
	(void)state;
	AUTO_JSON json_t *made = good_plan((struct given){plain, NULL, NULL, NULL});
	assert_null(at(step(made, "test"), "secret_fd"));
	const json_t *secret = step(made, "secret-test");
	assert_string_equal(text_at(secret, "secret_fd"), "KETTLE_SECRET_FD");
	assert_string_equal(text_at(at(secret, "secret"), "POPCORN_SEED"), "5");
	assert_null(at(at(secret, "env"), "POPCORN_SEED"));
	assert_string_equal(text_at(at(secret, "env"), "POPCORN_GPUS"), "2");
}

static void
test_environment(void **state)
{
	(void)state;
	AUTO_JSON json_t *made =
		good_plan((struct given){plain, NULL, NULL, "{\"name\": \"H100\", \"sm\": \"90a\", \"gfx\": \"gfx942\"}"});
	const json_t *env = at(step(made, "test"), "env");
	assert_string_equal(text_at(env, "PYTHONDONTWRITEBYTECODE"), "1");
	assert_string_equal(text_at(env, "XLA_PYTHON_CLIENT_PREALLOCATE"), "false");
	assert_string_equal(text_at(env, "TORCH_EXTENSIONS_DIR"), "out/cache/torch_extensions");
	assert_string_equal(text_at(env, "TORCH_CUDA_ARCH_LIST"), "9.0a");
	assert_string_equal(text_at(env, "PYTORCH_ROCM_ARCH"), "gfx942");
	assert_string_equal(text_at(env, "HIP_PLATFORM"), "amd");
	assert_null(at(env, "OMP_NUM_THREADS"));
	AUTO_FREE char *names = strdup(text_at(env, "KETTLE_CACHES"));
	char *rest = NULL;
	int count = 0;
	for (char *name = strtok_r(names, " ", &rest); name; name = strtok_r(NULL, " ", &rest), count++)
		assert_ptr_equal(strstr(text_at(env, name), "out/cache/"), text_at(env, name));
	assert_int_equal(count, 7);
	AUTO_JSON json_t *newer = good_plan((struct given){plain, NULL, NULL, "{\"name\": \"B200\", \"sm\": \"100\"}"});
	assert_string_equal(text_at(at(step(newer, "test"), "env"), "TORCH_CUDA_ARCH_LIST"), "10.0");
}

/* The profiler is the device's; where there is none for it, torch's own leaves its trace. */
static void
test_profile(void **state)
{
	(void)state;
	static const struct {
		const char *device, *profiler, *files;
	} cases[] = {
		{"{\"name\": \"CPU\"}", NULL, "trace.json.gz"},
		{"{\"name\": \"H100\", \"sm\": \"90a\"}", "ncu", "trace.json.gz profile.ncu-rep"},
		{"{\"name\": \"G\", \"facts\": {\"gpu\": {\"vendor\": \"nvidia\"}}}", "ncu", "trace.json.gz profile.ncu-rep"},
		{"{\"name\": \"MI300\", \"gfx\": \"gfx942\"}", "rocprofv3", "trace.json.gz trace.pftrace"},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		AUTO_JSON json_t *made = NULL;
		struct kettle_error err = {0};
		assert_int_equal(plan_in("profile", (struct given){plain, NULL, NULL, cases[i].device}, &made, &err), 0);
		const char *profiler = text_at(step(made, "test"), "profile");
		AUTO_FREE char *files = joined(at(step(made, "test"), "artifacts"));
		assert_true(profiler ? cases[i].profiler && strcmp(profiler, cases[i].profiler) == 0 : !cases[i].profiler);
		assert_string_equal(files, cases[i].files);
	}
	AUTO_JSON json_t *ranked = good_plan((struct given){plain, NULL, NULL, cases[1].device});
	assert_null(at(step(ranked, "test"), "profile"));
	assert_null(at(step(ranked, "test"), "artifacts"));
}

/* What compiles is imported first, by a step whose results are kept by content. */
static void
test_prepare(void **state)
{
	(void)state;
	AUTO_JSON json_t *made =
		good_plan((struct given){plain, "from torch.utils.cpp_extension import load_inline\n", NULL, NULL});
	assert_int_equal(json_array_size(at(made, "steps")), 4);
	const json_t *prepare = step(made, "prepare");
	assert_string_equal(text_at(prepare, "kind"), "prepare");
	assert_true(json_is_true(at(prepare, "cache")));
	expect_argv(made, "prepare", "python3 .kettle/prepare.py submission.py");
	AUTO_FREE char *needs = joined(at(step(made, "test"), "needs")), *outputs = joined(at(prepare, "outputs"));
	assert_string_equal(needs, "prepare");
	assert_string_equal(outputs, "cache");
	for (int i = 0; i < 2; i++) {
		const json_t *input = at(at(step(made, i ? "secret-test" : "test"), "inputs"), "out/cache");
		assert_string_equal(text_at(input, "step"), "prepare");
		assert_string_equal(text_at(input, "output"), "cache");
	}
	/* Same environment, or a build tool would begin again. */
	const char *name;
	json_t *value;
	json_object_foreach((json_t *)at(prepare, "env"), name, value)
		assert_true(json_equal(value, at(at(step(made, "test"), "env"), name)));
	AUTO_JSON json_t *unnamed = good_plan((struct given){"my-kernel.py eval.py", "load_inline", NULL, NULL});
	assert_int_equal(json_array_size(at(unnamed, "steps")), 3);
}

static void
test_refuses(void **state)
{
	static const struct {
		struct given given;
		const char *sentence;
	} bad[] = {
		{{"s.py t.py", NULL, "eval.py", NULL},
			"The task's config names `eval.py` as `main`, but no entry of its `files` has that name."},
		{{"s.py eval.py .kettle/x", NULL, NULL, NULL},
			"The task has a file `.kettle/x`, and the folder `.kettle` is Kettle's own; name it otherwise."},
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		json_t *made = NULL;
		struct kettle_error err = {0};
		assert_int_equal(plan(bad[i].given, &made, &err), KETTLE_EINVAL);
		assert_null(made);
		assert_string_equal(err.message, bad[i].sentence);
	}
}

static void
test_config_schema(void **state)
{
	static const char *const bad[] = {"{}", "{\"main\": 5}", "{\"main\": \"\"}", "{\"main\": \"a\", \"sources\": []}"};
	(void)state;
	AUTO_JSON json_t *schema = NULL, *good = json_pack("{s:s}", "main", "eval.py");
	struct kettle_error err = {0};
	if (schema_load(kettle_plugin.language->config_schema, &schema, &err))
		fail_msg("%s", err.message);
	assert_int_equal(schema_check(schema, good, NULL, NULL, &err), 0);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		AUTO_JSON json_t *config = json_loads(bad[i], 0, NULL);
		assert_int_not_equal(schema_check(schema, config, NULL, NULL, &err), 0);
	}
}

/* Two instances keep their options apart. */
static void
test_options(void **state)
{
	(void)state;
	void *other = NULL, *mine = self;
	AUTO_JSON json_t *options = json_pack("{s:s, s:s, s:i, s:I, s:{s:s, s:s}}", "python", "/opt/venv/bin/python3",
		"prepare", "always", "threads", 3, "memory", (json_int_t)1 << 34, "env", "PYTHONHASHSEED", "random", "X", "y");
	assert_int_equal(kettle_plugin.create(NULL, &other, NULL), 0);
	assert_int_equal(kettle_plugin.configure(other, options, NULL), 0);
	self = other;
	AUTO_JSON json_t *made = good_plan((struct given){plain, NULL, NULL, NULL});
	self = mine;
	expect_argv(made, "prepare", "/opt/venv/bin/python3 .kettle/prepare.py submission.py");
	expect_argv(made, "test", "/opt/venv/bin/python3 .kettle/run.py eval.py test cases.txt");
	const json_t *env = at(step(made, "test"), "env");
	assert_string_equal(text_at(env, "PYTHONHASHSEED"), "random");
	assert_string_equal(text_at(env, "X"), "y");
	assert_string_equal(text_at(env, "OMP_NUM_THREADS"), "3");
	assert_int_equal(json_integer_value(at(at(step(made, "test"), "limits"), "memory")), (json_int_t)1 << 34);
	AUTO_JSON json_t *usual = good_plan((struct given){plain, NULL, NULL, NULL});
	expect_argv(usual, "test", "python3 .kettle/run.py eval.py test cases.txt");
	AUTO_JSON json_t *relative = json_pack("{s:s, s:s}", "python", "venv/bin/python3", "prepare", "auto");
	struct kettle_error err = {0};
	assert_int_equal(kettle_plugin.configure(other, relative, &err), KETTLE_EINVAL);
	assert_non_null(strstr(err.message, "`python` must be the name of an interpreter or its absolute path"));
	kettle_plugin.destroy(other);
}

static void
test_warm(void **state)
{
	(void)state;
	void *other = NULL, *mine = self;
	AUTO_JSON json_t *options = json_pack(
		"{s:s, s:s, s:b, s:[s, s]}", "python", "python3", "prepare", "never", "warm", 1, "preload", "numpy", "torch");
	assert_int_equal(kettle_plugin.create(NULL, &other, NULL), 0);
	assert_int_equal(kettle_plugin.configure(other, options, NULL), 0);
	self = other;
	AUTO_JSON json_t *used = good_plan((struct given){plain, "\n  from torch import nn\nimport numpyro\n", NULL, NULL});
	const json_t *warm = at(step(used, "test"), "warm");
	AUTO_FREE char *modules = joined(at(warm, "preload"));
	assert_string_equal(text_at(warm, "tool"), "python3");
	assert_string_equal(modules, "torch");
	json_object_set_new(options, "warm", json_false());
	assert_int_equal(kettle_plugin.configure(other, options, NULL), 0);
	AUTO_JSON json_t *cold = good_plan((struct given){plain, "import torch\n", NULL, NULL});
	assert_null(at(step(cold, "test"), "warm"));
	self = mine;
	kettle_plugin.destroy(other);
}

/* Triton's interpreter is a wish, and scores that it makes are remarked on. */
static void
test_interpret(void **state)
{
	(void)state;
	void *other = NULL, *mine = self;
	AUTO_JSON json_t *options = json_pack("{s:s, s:s, s:b}", "python", "python3", "prepare", "never", "interpret", 1);
	AUTO_JSON json_t *plain_plan = good_plan((struct given){plain, "import triton\n", NULL, NULL});
	assert_null(text_at(at(step(plain_plan, "test"), "env"), "TRITON_INTERPRET"));
	assert_null(kettle_plugin.language->remark(self));
	assert_int_equal(kettle_plugin.create(NULL, &other, NULL), 0);
	assert_int_equal(kettle_plugin.configure(other, options, NULL), 0);
	self = other;
	AUTO_JSON json_t *plan = good_plan((struct given){plain, "import triton\n", NULL, NULL});
	assert_string_equal(text_at(at(step(plan, "test"), "env"), "TRITON_INTERPRET"), "1");
	assert_non_null(strstr(kettle_plugin.language->remark(other), "mean nothing for a GPU"));
	self = mine;
	kettle_plugin.destroy(other);
}

static void
test_table(void **state)
{
	(void)state;
	const struct kettle_language *language = kettle_plugin.language;
	assert_int_equal(kettle_plugin.magic, KETTLE_PLUGIN_MAGIC);
	assert_string_equal(kettle_plugin.name, "py");
	assert_string_equal(language->aliases[0], "python");
	assert_string_equal(language->comment, "#");
	AUTO_BUF struct buf names = {0};
	for (const char *const *name = language->template_names; *name; name++)
		buf_printf(&names, "%s ", *name);
	assert_string_equal(names.data, "Python Triton CuteDSL ");
	assert_int_equal(language->skeletons_count, 3);
	assert_int_equal(language->harness_count, 3);
	AUTO_JSON json_t *tools = language->tools(self);
	AUTO_FREE char *listed = joined(tools);
	assert_string_equal(listed, "python3");
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
	buf_printf(&path, "%s/plugins/languages/py/kettle-py.7", getenv("top_srcdir"));
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

static int
setup(void **state)
{
	(void)state;
	AUTO_JSON json_t *options = json_pack("{s:s, s:s}", "python", "python3", "prepare", "auto");
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
		cmocka_unit_test(test_plan),
		cmocka_unit_test(test_bytecode),
		cmocka_unit_test(test_secret),
		cmocka_unit_test(test_environment),
		cmocka_unit_test(test_profile),
		cmocka_unit_test(test_prepare),
		cmocka_unit_test(test_refuses),
		cmocka_unit_test(test_config_schema),
		cmocka_unit_test(test_options),
		cmocka_unit_test(test_warm),
		cmocka_unit_test(test_interpret),
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_manual),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
