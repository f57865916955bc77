/* SPDX-License-Identifier: MIT */
/* The language py, driven without core and host: what it plans, and what it refuses. */
#include <config.h>

#include <kettle/plugin.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_access.h"
#include "base/xalloc.h"
#include "lib/unit_test.h"
#include "plugins/plans.h"

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

/* A task of files (the first is the submission, with the text given), planned with a public and a secret run. */
struct given {
	const char *names, *text, *config, *device;
};

static struct plans_given
given_of(struct given given, const char *mode)
{
	static const char runs[] =
		"[{\"id\": \"test\", \"kind\": \"run\", \"needs\": [], \"limits\": {\"wall\": 9},"
		" \"run\": {\"mode\": \"test\", \"secret\": false, \"args\": [\"test\", \"cases.txt\"]}},"
		" {\"id\": \"secret-test\", \"kind\": \"run\", \"needs\": [\"test\"],"
		" \"run\": {\"mode\": \"test\", \"secret\": true, \"args\": [\"test\", \"cases.txt\"]},"
		" \"secret\": {\"POPCORN_SEED\": \"5\"}, \"env\": {\"POPCORN_GPUS\": \"2\"}}]";
	return (struct plans_given){.names = given.names,
		.text = given.text ? given.text : "",
		.config = given.config ? given.config : "{\"main\": \"eval.py\"}",
		.device = given.device,
		.mode = mode,
		.runs = runs};
}

static json_t *
good_plan(struct given given)
{
	return plans_given_good(given_of(given, "ranked"));
}

static const char plain[] = "submission.py task.py eval.py data.bin";

static void
test_plan(void **state)
{
	(void)state;
	AUTO_JSON json_t *made = good_plan((struct given){plain, NULL, NULL, NULL});
	assert_int_equal(json_array_size(at(made, "steps")), 3);
	plans_expect(made, "test", "argv", "python3 .kettle/run.py eval.py test cases.txt");
	plans_expect(made, "test", "inputs", ".kettle/run.py submission.py task.py eval.py data.bin __pycache__");
	plans_expect_words(at(made, "files"), "submission.py task.py eval.py data.bin .kettle/compile.py .kettle/run.py");
	assert_non_null(strstr(text_at(at(at(made, "files"), ".kettle/run.py"), "text"), "SPDX-License-Identifier"));
	plans_expect(made, "secret-test", "needs", "test");
	assert_int_equal(json_array_size(at(plans_step(made, "test"), "needs")), 0);
	assert_int_equal(json_integer_value(at(at(plans_step(made, "test"), "limits"), "wall")), 9);
}

/* The task's modules are compiled once, by a step without the submission. */
static void
test_bytecode(void **state)
{
	(void)state;
	AUTO_JSON json_t *made =
		good_plan((struct given){"submission.py task.py eval.py in/side.py a-b.py x.bin", NULL, NULL, NULL});
	const json_t *compile = plans_step(made, "bytecode");
	assert_string_equal(text_at(compile, "kind"), "build");
	assert_true(member_true(compile, "cache"));
	plans_expect(made, "bytecode", "argv", "python3 .kettle/compile.py eval.py task.py eval.py");
	plans_expect(made, "bytecode", "inputs", ".kettle/compile.py eval.py task.py");
	plans_expect(made, "bytecode", "outputs", "__pycache__");
	for (int i = 0; i < 2; i++) {
		const json_t *input = at(at(plans_step(made, i ? "secret-test" : "test"), "inputs"), "__pycache__");
		assert_string_equal(text_at(input, "step"), "bytecode");
		assert_string_equal(text_at(input, "output"), "__pycache__");
	}
	AUTO_JSON json_t *own = good_plan((struct given){"submission.py eval.py __pycache__/x.pyc", NULL, NULL, NULL});
	assert_int_equal(json_array_size(at(own, "steps")), 2);
}

static const char pair_config[] = "{\"main\": \"eval.py\", \"solver\": \"solver.py\"}";
static const char pair_files[] = "submission.py task.py eval.py solver.py";

/* The member of a run's step, or of its referee or its solver. */
static const json_t *
of_process(const json_t *made, const char *process, const char *key)
{
	return at(at(plans_step(made, "secret-test"), process), key);
}

/* With a solver the submission, its caches and the modules that it uses are in that process alone. */
static void
test_pair(void **state)
{
	(void)state;
	void *mine = plans_self;
	void *other = plans_instance(json_pack(
		"{s:s, s:s, s:b, s:[s, s]}", "python", "python3", "prepare", "always", "warm", 1, "preload", "numpy", "torch"));
	plans_self = other;
	AUTO_JSON json_t *made = good_plan((struct given){pair_files, "import torch\n", pair_config, NULL});
	const json_t *step = plans_step(made, "secret-test");
	static const char *const absent[] = {"argv", "env", "inputs", "warm"};
	for (size_t i = 0; i < ARRAY_SIZE(absent); i++)
		assert_null(at(step, absent[i]));
	plans_expect_words(of_process(made, "referee", "argv"), "python3 .kettle/run.py eval.py test cases.txt");
	plans_expect_words(of_process(made, "solver", "argv"), "python3 .kettle/run.py solver.py test");
	plans_expect_words(of_process(made, "referee", "inputs"), ".kettle/run.py task.py eval.py solver.py __pycache__");
	plans_expect_words(of_process(made, "solver", "inputs"),
		".kettle/run.py submission.py task.py eval.py solver.py __pycache__ out/cache");
	static const char *const processes[] = {"referee", "solver"};
	for (size_t i = 0; i < ARRAY_SIZE(processes); i++)
		plans_expect_words(at(of_process(made, processes[i], "warm"), "preload"),
			"_ctypes _pickle array json mmap resource signal struct torch");
	assert_string_equal(text_at(of_process(made, "referee", "warm"), "tool"), "python3");
	assert_true(json_integer_value(at(step, "share")) > 1 << 30);
	/* With a GPU the solver judges. */
	AUTO_JSON json_t *far = good_plan((struct given){pair_files, "import torch\n", pair_config, "{\"sm\": \"90a\"}"});
	assert_null(at(plans_step(far, "secret-test"), "share"));
	assert_null(at(of_process(far, "referee", "warm"), "preload"));
	assert_string_equal(text_at(of_process(made, "solver", "env"), "KETTLE_SUBMISSION"), "submission.py");
	assert_string_equal(text_at(of_process(made, "referee", "env"), "POPCORN_GPUS"), "2");
	assert_string_equal(text_at(of_process(made, "solver", "env"), "POPCORN_GPUS"), "2");
	assert_string_equal(text_at(step, "secret_fd"), "KETTLE_SECRET_FD");
	assert_non_null(at(step, "jit"));
	plans_self = mine;
	kettle_plugin.destroy(other);
}

/* A seed comes by descriptor, never by the environment. */
static void
test_secret(void **state)
{
	(void)state;
	AUTO_JSON json_t *made = good_plan((struct given){plain, NULL, NULL, NULL});
	assert_null(at(plans_step(made, "test"), "secret_fd"));
	const json_t *secret = plans_step(made, "secret-test");
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
	const json_t *env = at(plans_step(made, "test"), "env");
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
	assert_string_equal(text_at(at(plans_step(newer, "test"), "env"), "TORCH_CUDA_ARCH_LIST"), "10.0");
	/* Where the configuration names none, the GPU's own. */
	AUTO_JSON json_t *told = good_plan((struct given){plain, "import torch.utils.cpp_extension\n", NULL,
		"{\"name\": \"X\", \"facts\": {\"gpu\": {\"compute\": \"9.0\"}}}"});
	assert_string_equal(text_at(at(plans_step(told, "test"), "env"), "TORCH_CUDA_ARCH_LIST"), "9.0+PTX");
	assert_string_equal(text_at(at(plans_step(told, "prepare"), "env"), "TORCH_CUDA_ARCH_LIST"), "9.0+PTX");
	AUTO_JSON json_t *odd =
		good_plan((struct given){plain, NULL, NULL, "{\"name\": \"X\", \"facts\": {\"gpu\": {\"compute\": \"9;x\"}}}"});
	assert_null(at(at(plans_step(odd, "test"), "env"), "TORCH_CUDA_ARCH_LIST"));
}

#define NCU_FILES "trace.json.gz profile.ncu-rep ncu-details.txt ncu-details.csv"

/* The profiler is that of the device; without one, only torch's own leaves its trace. */
static void
test_profile(void **state)
{
	(void)state;
	static const struct {
		const char *device, *profiler, *files;
	} cases[] = {
		{"{\"name\": \"CPU\"}", NULL, "trace.json.gz"},
		{"{\"name\": \"H100\", \"sm\": \"90a\"}", "ncu", NCU_FILES},
		{"{\"name\": \"G\", \"facts\": {\"gpu\": {\"vendor\": \"nvidia\"}}}", "ncu", NCU_FILES},
		{"{\"name\": \"MI300\", \"gfx\": \"gfx942\"}", "rocprofv3", "trace.json.gz trace.pftrace"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO_JSON json_t *made =
			plans_given_good(given_of((struct given){plain, NULL, NULL, cases[i].device}, "profile"));
		const char *profiler = text_at(plans_step(made, "test"), "profile");
		assert_true(profiler ? cases[i].profiler && strcmp(profiler, cases[i].profiler) == 0 : !cases[i].profiler);
		plans_expect(made, "test", "artifacts", cases[i].files);
	}
	AUTO_JSON json_t *ranked = good_plan((struct given){plain, NULL, NULL, cases[1].device});
	assert_null(at(plans_step(ranked, "test"), "profile"));
	assert_null(at(plans_step(ranked, "test"), "artifacts"));
}

/* A submission that compiles extensions is imported first, by a cached step. */
static void
test_prepare(void **state)
{
	(void)state;
	AUTO_JSON json_t *made =
		good_plan((struct given){plain, "from torch.utils.cpp_extension import load_inline\n", NULL, NULL});
	assert_int_equal(json_array_size(at(made, "steps")), 6);
	const json_t *prepare = plans_step(made, "prepare");
	assert_string_equal(text_at(prepare, "kind"), "prepare");
	assert_true(member_true(prepare, "cache"));
	plans_expect(made, "prepare", "argv", "python3 .kettle/prepare.py submission.py");
	plans_expect(made, "test", "needs", "prepare");
	plans_expect(made, "prepare", "outputs", "cache");
	for (int i = 0; i < 2; i++) {
		const json_t *input = at(at(plans_step(made, i ? "secret-test" : "test"), "inputs"), "out/cache");
		assert_string_equal(text_at(input, "step"), "prepare");
		assert_string_equal(text_at(input, "output"), "cache");
	}
	/* Same environment, or a build tool would begin again. */
	const char *name;
	json_t *value;
	json_object_foreach((json_t *)at(prepare, "env"), name, value)
		assert_true(json_equal(value, at(at(plans_step(made, "test"), "env"), name)));
	AUTO_JSON json_t *unnamed = good_plan((struct given){"my-kernel.py eval.py", "load_inline", NULL, NULL});
	assert_int_equal(json_array_size(at(unnamed, "steps")), 3);
}

static const char h100[] = "{\"name\": \"H100\", \"sm\": \"90a\"}";
static const char h100_of_facts[] = "{\"name\": \"H100\", \"facts\": {\"gpu\": {\"vendor\": \"nvidia\", \"name\": "
									"\"NVIDIA H100 PCIe\", \"compute\": \"9.0\"}}}";

/* With the option, a step without the device compiles for it, and the runs get its caches in place of those before it. */
static void
test_precompile(void **state)
{
	(void)state;
	void *mine = plans_self;
	void *other =
		plans_instance(json_pack("{s:s, s:s, s:b}", "python", "python3", "prepare", "auto", "build_without_gpu", 1));
	AUTO_JSON json_t *without = good_plan((struct given){plain, "import triton\n", NULL, h100});
	assert_int_equal(json_array_size(at(without, "steps")), 3);
	plans_expect(without, "test", "inputs",
		".kettle/run.py submission.py task.py eval.py data.bin __pycache__ .kettle/built.py");
	plans_self = other;
	static const struct {
		const char *text, *device, *target;
	} wanted[] = {{"import triton\n", h100, "cuda:90:32 -"}, {"torch.compile(f)\n", h100, "cuda:90:32 -"},
		{"import triton\n", h100_of_facts, "cuda:90:32 NVIDIA H100 PCIe"}, {"x = 1\n", h100, NULL},
		{"import triton\n", "{\"name\": \"odd\", \"facts\": {\"gpu\": {}}}", NULL}, {"import triton\n", NULL, NULL}};
	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++) {
		AUTO_JSON json_t *made = good_plan((struct given){plain, wanted[i].text, NULL, wanted[i].device});
		assert_int_equal(json_array_size(at(made, "steps")), wanted[i].target ? 4 : 3);
		if (!wanted[i].target)
			continue;
		const json_t *step = plans_step(made, "precompile");
		AUTO_FREE char *argv = xasprintf("python3 .kettle/precompile.py submission.py %s", wanted[i].target);
		plans_expect(made, "precompile", "argv", argv);
		assert_string_equal(text_at(step, "kind"), "prepare");
		assert_null(at(step, "device"));
		assert_true(json_is_true(at(step, "cache")) && json_is_true(at(step, "optional")));
		assert_string_equal(text_at(at(at(plans_step(made, "test"), "inputs"), "out/cache"), "step"), "precompile");
		assert_int_equal(json_array_size(at(plans_step(made, "test"), "needs")), 0);
	}
	AUTO_JSON json_t *both = good_plan((struct given){plain, "import triton\nload_inline()\n", NULL, h100});
	assert_string_equal(text_at(at(at(plans_step(both, "precompile"), "inputs"), "out/cache"), "step"), "prepare");
	assert_string_equal(text_at(at(at(plans_step(both, "test"), "inputs"), "out/cache"), "step"), "precompile");
	plans_self = mine;
	kettle_plugin.destroy(other);
}

/* It gets the cases of public runs alone, each once. */
static void
test_precompile_cases(void **state)
{
	(void)state;
	void *mine = plans_self;
	plans_self =
		plans_instance(json_pack("{s:s, s:s, s:b}", "python", "python3", "prepare", "auto", "build_without_gpu", 1));
	struct plans_given given = given_of((struct given){plain, "import triton\n", NULL, h100}, "ranked");
	given.runs =
		"[{\"id\": \"test\", \"kind\": \"run\", \"cases\": {\"name\": \"c\", \"text\": \"size: 1; seed: 2\"},"
		" \"run\": {\"mode\": \"test\", \"secret\": false, \"args\": []}},"
		" {\"id\": \"again\", \"kind\": \"run\", \"cases\": {\"name\": \"c\", \"text\": \"size: 1; seed: 2\"},"
		" \"run\": {\"mode\": \"test\", \"secret\": false, \"args\": []}},"
		" {\"id\": \"secret\", \"kind\": \"run\", \"cases\": {\"name\": \"c\", \"text\": \"size: 7; seed: 9\"},"
		" \"run\": {\"mode\": \"test\", \"secret\": true, \"args\": []}, \"secret\": {\"POPCORN_SEED\": \"5\"}}]";
	AUTO_JSON json_t *made = plans_given_good(given);
	const json_t *step = plans_step(made, "precompile");
	assert_string_equal(text_at(at(at(step, "inputs"), ".kettle/cases"), "text"), "size: 1; seed: 2\n");
	assert_null(at(step, "secret"));
	kettle_plugin.destroy(plans_self);
	plans_self = mine;
}

static void
test_refuses(void **state)
{
	static const struct given bad[] = {
		{"s.py t.py", NULL, NULL, NULL},
		{"s.py eval.py", NULL, pair_config, NULL},
		{"s.py eval.py .kettle/x", NULL, NULL, NULL},
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		json_t *made = NULL;
		struct kettle_error err = {0};
		assert_int_equal(plans_make(given_of(bad[i], "ranked"), &made, &err), KETTLE_EINVAL);
		assert_null(made);
		assert_sentence(err.message);
	}
}

static void
test_config_schema(void **state)
{
	static const char *const bad[] = {"{}", "{\"main\": 5}", "{\"main\": \"\"}", "{\"main\": \"a\", \"sources\": []}",
		"{\"solver\": \"a\"}", "{\"main\": \"a\", \"solver\": \"\"}", NULL};
	static const char *const good[] = {"{\"main\": \"eval.py\"}", pair_config, NULL};
	(void)state;
	plans_schema(good, bad);
}

/* Two instances keep their options apart. */
static void
test_options(void **state)
{
	(void)state;
	void *mine = plans_self;
	void *other = plans_instance(json_pack("{s:s, s:s, s:i, s:{s:s, s:s}}", "python", "/opt/venv/bin/python3",
		"prepare", "always", "threads", 3, "env", "PYTHONHASHSEED", "random", "X", "y"));
	plans_self = other;
	AUTO_JSON json_t *made = good_plan((struct given){plain, NULL, NULL, NULL});
	plans_self = mine;
	plans_expect(made, "prepare", "argv", "/opt/venv/bin/python3 .kettle/prepare.py submission.py");
	plans_expect(made, "test", "argv", "/opt/venv/bin/python3 .kettle/run.py eval.py test cases.txt");
	const json_t *env = at(plans_step(made, "test"), "env");
	assert_string_equal(text_at(env, "PYTHONHASHSEED"), "random");
	assert_string_equal(text_at(env, "X"), "y");
	assert_string_equal(text_at(env, "OMP_NUM_THREADS"), "3");
	AUTO_JSON json_t *usual = good_plan((struct given){plain, NULL, NULL, NULL});
	plans_expect(usual, "test", "argv", "python3 .kettle/run.py eval.py test cases.txt");
	AUTO_JSON json_t *relative = json_pack("{s:s, s:s}", "python", "venv/bin/python3", "prepare", "auto");
	struct kettle_error err = {0};
	assert_int_equal(kettle_plugin.configure(other, relative, &err), KETTLE_EINVAL);
	assert_non_null(strstr(err.message, "`python` must be the name of an interpreter or its absolute path"));
	kettle_plugin.destroy(other);
}

/*
 * Torch's header is precompiled where a file names what compiles extensions; for two sets of flags, without anything of the
 * submission, and for the prepare step alone.
 */
static void
test_headers(void **state)
{
	(void)state;
	void *mine = plans_self;
	void *other = plans_instance(json_pack("{s:s, s:s}", "python", "python3", "prepare", "always"));
	plans_self = other;
	AUTO_JSON json_t *without = good_plan((struct given){plain, NULL, NULL, NULL});
	plans_self = mine;
	kettle_plugin.destroy(other);
	assert_non_null(plans_step(without, "prepare"));
	assert_int_equal(json_array_size(at(without, "steps")), 4);
	AUTO_JSON json_t *made = good_plan((struct given){plain, "\nload_inline()\n", NULL, NULL});
	static const char *const flags[][3] = {{"header", "", "plain"}, {"header-O3", " -O3", "O3"}};
	for (size_t i = 0; i < ARRAY_SIZE(flags); i++) {
		AUTO_FREE char *argv = xasprintf("python3 .kettle/headers.py extension.h.gch%s", flags[i][1]);
		AUTO_FREE char *input = xasprintf(".kettle/include/torch/extension.h.gch/%s", flags[i][2]);
		const json_t *step = plans_step(made, flags[i][0]);
		plans_expect(made, flags[i][0], "argv", argv);
		assert_true(json_is_true(at(step, "shared")) && json_is_true(at(step, "cache")));
		assert_int_equal(json_object_size(at(step, "inputs")), 1);
		assert_non_null(at(at(step, "inputs"), ".kettle/headers.py"));
		assert_string_equal(text_at(at(at(plans_step(made, "prepare"), "inputs"), input), "step"), flags[i][0]);
		assert_null(at(at(plans_step(made, "test"), "inputs"), input));
	}
}

static void
test_warm(void **state)
{
	(void)state;
	void *mine = plans_self;
	AUTO_JSON json_t *options = json_pack(
		"{s:s, s:s, s:b, s:[s, s]}", "python", "python3", "prepare", "never", "warm", 1, "preload", "numpy", "torch");
	void *other = plans_instance(json_incref(options));
	plans_self = other;
	AUTO_JSON json_t *used = good_plan((struct given){plain, "\n  from torch import nn\nimport numpyro\n", NULL, NULL});
	const json_t *warm = at(plans_step(used, "test"), "warm");
	assert_string_equal(text_at(warm, "tool"), "python3");
	plans_expect_words(at(warm, "preload"), "torch");
	json_object_set_new(options, "warm", json_false());
	assert_int_equal(kettle_plugin.configure(other, options, NULL), 0);
	AUTO_JSON json_t *cold = good_plan((struct given){plain, "import torch\n", NULL, NULL});
	assert_null(at(plans_step(cold, "test"), "warm"));
	plans_self = mine;
	kettle_plugin.destroy(other);
}

/* By what files name, as a word of its own; for GPUs Triton knows what it compiles for. */
static void
test_recipes(void **state)
{
	(void)state;
	static const struct {
		const char *text, *device, *recipes;
	} cases[] = {
		{"import torch\n", "{\"name\": \"CPU\"}", ""},
		{"@torch.compile\ndef f(): pass\n", "{\"name\": \"CPU\"}", "torch.compile"},
		{"x = torch.compiled, mytorch.compile\n", "{\"name\": \"CPU\"}", ""},
		{"import torch\ntorch.use_deterministic_algorithms(True)\n", "{\"name\": \"CPU\"}", "torch.compiler"},
		{"import torch\nfrom utils import DeterministicContext\n", "{\"name\": \"CPU\"}", "torch.compiler"},
		{"import torch\nfrom utils import deterministic\n", "{\"name\": \"CPU\"}", "torch.compiler"},
		{"deterministic = True\n", "{\"name\": \"CPU\"}", ""},
		{"torch.compile(f)\ntorch.use_deterministic_algorithms(True)\n", "{\"name\": \"CPU\"}", "torch.compile"},
		{"torch.compile(f)\n", "{\"name\": \"H\", \"sm\": \"90a\"}", "torch.compile.gpu"},
		{"import triton\nimport jax.numpy\n", "{\"name\": \"CPU\"}", "triton jax"},
		{"import triton\n", "{\"name\": \"H\", \"sm\": \"90a\"}", "triton=cuda:90:32"},
		{"import triton\n", "{\"name\": \"H\", \"facts\": {\"gpu\": {\"compute\": \"9.0\"}}}", "triton=cuda:90:32"},
		{"import triton\n", "{\"name\": \"M\", \"gfx\": \"gfx942\"}", "triton=hip:gfx942:64"},
		{"import triton\n", "{\"name\": \"R\", \"gfx\": \"gfx1100\"}", "triton=hip:gfx1100:32"},
		{"from numba import njit\nimport cupy, helion\nimport cutlass\n", "{\"name\": \"CPU\"}", "numba cupy cute"},
	};
	void *mine = plans_self;
	void *other = plans_instance(json_pack("{s:s, s:s, s:b}", "python", "python3", "prepare", "never", "warm", 1));
	plans_self = other;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO_JSON json_t *plan = good_plan((struct given){plain, cases[i].text, NULL, cases[i].device});
		plans_expect_words(at(at(plans_step(plan, "test"), "warm"), "recipes"), cases[i].recipes);
	}
	plans_self = mine;
	kettle_plugin.destroy(other);
}

/* What the task was seen to import counts like what files name. */
static void
test_imported(void **state)
{
	(void)state;
	static const struct {
		const char *imported, *device, *recipes;
	} cases[] = {
		{"[\"jax\", \"cutlass\"]", NULL, "jax cute"},
		{"[\"triton\"]", "{\"name\": \"H\", \"sm\": \"90a\"}", "triton=cuda:90:32"},
		{"[\"torch._dynamo\", \"triton\"]", NULL, "torch.compiler"},
		{"[\"torch._dynamo\", \"torch._inductor.compile_fx\", \"triton\"]", NULL, "torch.compile"},
		{"[\"torch._inductor.compile_fx\"]", "{\"name\": \"H\", \"sm\": \"90a\"}", "torch.compile.gpu"},
		{"[\"os\"]", NULL, ""},
	};
	void *mine = plans_self;
	void *other = plans_instance(json_pack("{s:s, s:s, s:b}", "python", "python3", "prepare", "never", "warm", 1));
	plans_self = other;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct plans_given given = given_of((struct given){plain, "x = 1\n", NULL, cases[i].device}, "ranked");
		given.imported = cases[i].imported;
		AUTO_JSON json_t *plan = plans_given_good(given);
		plans_expect_words(at(at(plans_step(plan, "test"), "warm"), "recipes"), cases[i].recipes);
	}
	plans_self = mine;
	kettle_plugin.destroy(other);
}

/* Where a job is the only one, an interpreter is made for it if it has runs enough; that counts, not what they are. */
static void
test_alone(void **state)
{
	(void)state;
	static const char text[] = "import triton\ntorch.compile(f)\n";
	static const char *const wanted[] = {NULL, "torch.compile", "torch.compile", "torch.compile triton"};
	void *mine = plans_self;
	void *other = plans_instance(json_pack("{s:s, s:s, s:b}", "python", "python3", "prepare", "never", "warm", 1));
	plans_self = other;
	for (size_t count = 1; count <= ARRAY_SIZE(wanted); count++) {
		AUTO_JSON json_t *runs = json_array();
		for (size_t i = 0; i < count; i++)
			json_array_append_new(
				runs, json_pack("{s:o, s:s, s:[], s:{s:s, s:b, s:[s]}}", "id", json_sprintf("r%d", (int)i), "kind",
						  "run", "needs", "run", "mode", "test", "secret", 0, "args", "test"));
		AUTO_FREE char *list = json_dumps(runs, 0);
		struct plans_given given = given_of((struct given){plain, text, NULL, NULL}, "ranked");
		given.runs = list;
		AUTO_JSON json_t *plan = plans_given_good(given);
		const json_t *warm = at(plans_step(plan, "r0"), "warm");
		plans_expect_words(at(warm, "recipes"), "torch.compile triton");
		if (wanted[count - 1])
			plans_expect_words(at(warm, "alone"), wanted[count - 1]);
		else
			assert_null(at(warm, "alone"));
	}
	plans_self = mine;
	kettle_plugin.destroy(other);
}

/* What utils.py, of which each task has a copy, would import or call says nothing. */
static void
test_helpers(void **state)
{
	(void)state;
	static const char helpers[] = "utils.py task.py eval.py";
	void *mine = plans_self;
	void *other = plans_instance(json_pack(
		"{s:s, s:s, s:b, s:[s, s]}", "python", "python3", "prepare", "never", "warm", 1, "preload", "numpy", "torch"));
	plans_self = other;
	AUTO_JSON json_t *lazy = good_plan((struct given){helpers,
		"import numpy\ndef f():\n  import torch\n  torch.use_deterministic_algorithms(True)\n  torch.compile(f)\n",
		NULL, NULL});
	const json_t *warm = at(plans_step(lazy, "test"), "warm");
	plans_expect_words(at(warm, "preload"), "numpy");
	plans_expect_words(at(warm, "recipes"), "");
	AUTO_JSON json_t *eager = good_plan((struct given){helpers, "import numpy\nimport torch\n", NULL, NULL});
	plans_expect_words(at(at(plans_step(eager, "test"), "warm"), "preload"), "numpy torch");
	plans_self = mine;
	kettle_plugin.destroy(other);
}

/* Triton's interpreter is an option, and the scores that it leads to have a remark. */
static void
test_interpret(void **state)
{
	(void)state;
	void *mine = plans_self;
	AUTO_JSON json_t *plain_plan = good_plan((struct given){plain, "import triton\n", NULL, NULL});
	assert_null(text_at(at(plans_step(plain_plan, "test"), "env"), "TRITON_INTERPRET"));
	assert_null(kettle_plugin.language->remark(plans_self));
	void *other = plans_instance(json_pack("{s:s, s:s, s:b}", "python", "python3", "prepare", "never", "interpret", 1));
	plans_self = other;
	AUTO_JSON json_t *plan = good_plan((struct given){plain, "import triton\n", NULL, NULL});
	assert_string_equal(text_at(at(plans_step(plan, "test"), "env"), "TRITON_INTERPRET"), "1");
	assert_non_null(strstr(kettle_plugin.language->remark(other), "mean nothing for a GPU"));
	plans_self = mine;
	kettle_plugin.destroy(other);
}

static void
test_table(void **state)
{
	(void)state;
	const struct kettle_language *language = kettle_plugin.language;
	plans_table("py", "#", "plugins/languages/py/kettle-py.7");
	assert_string_equal(language->aliases[0], "python");
	AUTO_BUF struct buf names = {0};
	for (const char *const *name = language->template_names; *name; name++)
		buf_printf(&names, "%s ", *name);
	assert_string_equal(names.data, "Python Triton CuteDSL ");
	assert_int_equal(language->skeletons_count, 3);
	assert_int_equal(language->harness_count, 6);
	AUTO_JSON json_t *tools = language->tools(plans_self);
	plans_expect_words(tools, "python3");
}

/* ---- what judges, and tasks in KernelBot's form ---- */

/* task: JSON. file: what contains the words. */
static const char *
judging(const char *task, const char *file, const char *words, int gpu)
{
	AUTO_JSON json_t *checked = json_loads(task, 0, NULL);
	AUTO_FREE char *text = xasprintf("# kettle-%s\n", words);
	AUTO_JSON json_t *files = json_pack("{s:{s:s}, s:{s:s}}", "other.py", "text", "", file, "text", text);
	assert_non_null(checked);
	return kettle_plugin.language->judging(plans_self, checked, files, gpu);
}

static void
test_judging(void **state)
{
	static const char own[] = "{\"config\": {\"main\": \"eval.py\"}}", adopted[] = "{\"harness\": \"kettle\"}",
					  apart[] = "{\"config\": {\"main\": \"eval.py\", \"solver\": \"solver.py\"}}";
	(void)state;
	assert_string_equal(judging(apart, "eval.py", "judging: referee", 0), "referee");
	assert_string_equal(judging(adopted, "harness/eval.py", "judging: referee", 0), "referee");
	assert_string_equal(judging(apart, "eval.py", "judging: referee", 1), "own harness");
	assert_string_equal(judging(own, "eval.py", "judging: referee", 0), "own harness");
	assert_string_equal(judging(apart, "reference.py", "judging: referee", 0), "own harness");
	assert_string_equal(judging(apart, "task.py", "judging: referee", 0), "own harness");
	assert_string_equal(judging(own, "eval.py", "reports: complete", 0), "one process");
	assert_string_equal(judging(own, "reference.py", "reports: complete", 0), "own harness");
}

static int
adopt(const char *name, struct kettle_error *err)
{
	AUTO_JSON json_t *task = json_pack("{s:[{s:s, s:s}]}", "files", "name", "submission.py", "source", "@SUBMISSION@"),
					 *files = json_pack("{s:{s:s}, s:{s:s}}", "reference.py", "text",
						 "def generate_input():\n    pass\n\ndef check_implementation():\n    pass\n", name, "text",
						 ""),
					 *made = NULL;
	int rc = kettle_plugin.language->adopt(plans_self, task, files, &made, err);
	if (rc == 0)
		assert_non_null(json_object_get(made, "harness/eval.py"));
	return rc;
}

/* No name may take the place of the submission, the reference or the harness in a job's folder. */
static void
test_names(void **state)
{
	static const char *const taken[] = {"harness/submission.py", "harness/reference.py", "harness/x.py",
		"harness/eval.py", "task_utils.py", "exchange.py"};
	(void)state;
	assert_int_equal(adopt("harness.py", NULL), 0);
	assert_int_equal(adopt("more/harness.py", NULL), 0);
	for (size_t i = 0; i < ARRAY_SIZE(taken); i++) {
		struct kettle_error err = {0};
		assert_int_equal(adopt(taken[i], &err), KETTLE_EINVAL);
		assert_non_null(strstr(err.message, taken[i]));
	}
}

/* ---- single reference files ---- */

static const char reference[] = "import random\n\ndef generate_input():\n    return random.random()\n\n"
								"def ref_kernel (data):\n    return data\n\n"
								"from operator import eq as check_implementation\n";

static int
make_single(const char *text, size_t size, json_t **ret_task, struct kettle_error *err)
{
	return kettle_plugin.language->single_file(NULL, "identity.py", text, size, ret_task, err);
}

static void
test_single_task(void **state)
{
	(void)state;
	AUTO_JSON json_t *made = NULL;
	struct kettle_error err = {0};
	assert_int_equal(make_single(reference, strlen(reference), &made, &err), 0);
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
	assert_string_equal(json_string_value(json_object_get(json_object_get(task, "config"), "solver")), main);
	assert_non_null(
		strstr(json_string_value(json_object_get(json_object_get(files, main), "text")), "ten fresh inputs"));
	const json_t *start = json_object_get(json_object_get(made, "templates"), "Python");
	assert_string_equal(json_string_value(json_object_get(start, "file_name")), "train.py");
}

static void
expect_no_single(const char *text, size_t size, const char *message)
{
	json_t *made = NULL;
	struct kettle_error err = {0};
	assert_int_equal(make_single(text, size, &made, &err), KETTLE_EINVAL);
	assert_null(made);
	assert_non_null(strstr(err.message, message));
}

static void
test_single_refused(void **state)
{
	(void)state;
	expect_no_single("", 0, "`identity.py` does not define `generate_input`; a reference file defines");
	expect_no_single("def generate_inputs(): pass", 27, "does not define `generate_input`");
	expect_no_single("  def generate_input(): pass", 28, "does not define `generate_input`");
	static const char two[] = "generate_input = ref_kernel = None\ndef ref_kernel(x): pass\n# check_implementation";
	expect_no_single(two, strlen(two), "does not define `check_implementation`");
	expect_no_single(reference, sizeof(reference), "it contains a NUL byte");
	static const char latin[] = "from x import generate_input, ref_kernel, check_implementation\n# \xe9\n";
	expect_no_single(latin, strlen(latin), "it is not UTF-8");
}

static int
setup(void **state)
{
	(void)state;
	plans_self = plans_instance(json_pack("{s:s, s:s}", "python", "python3", "prepare", "auto"));
	return 0;
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_plan),
	cmocka_unit_test(test_bytecode),
	cmocka_unit_test(test_pair),
	cmocka_unit_test(test_secret),
	cmocka_unit_test(test_environment),
	cmocka_unit_test(test_profile),
	cmocka_unit_test(test_prepare),
	cmocka_unit_test(test_precompile),
	cmocka_unit_test(test_precompile_cases),
	cmocka_unit_test(test_refuses),
	cmocka_unit_test(test_config_schema),
	cmocka_unit_test(test_options),
	cmocka_unit_test(test_headers),
	cmocka_unit_test(test_warm),
	cmocka_unit_test(test_recipes),
	cmocka_unit_test(test_imported),
	cmocka_unit_test(test_alone),
	cmocka_unit_test(test_helpers),
	cmocka_unit_test(test_interpret),
	cmocka_unit_test(test_single_task),
	cmocka_unit_test(test_single_refused),
	cmocka_unit_test(test_table),
	cmocka_unit_test(test_judging),
	cmocka_unit_test(test_names),
};

UNIT_TESTS(test_py, .setup = setup, .teardown = plans_teardown);
