/* SPDX-License-Identifier: MIT */
/*
 * The language py: boards in Python, with the packages of its interpreter (numpy, torch, Triton, JAX). A run is the task's
 * `main`, started through run.py, which keeps the seed and the result channel from the processes that the harness starts.
 * With `solver`, it is a pair: `main`, the referee, has seed, channel and cases, and no submission; `solver` has that.
 * The task's modules are compiled once for all runs (compile.py). Where a submission compiles extensions, a step before
 * the runs imports it once (prepare.py), and every run gets the results. A further step may compile for the device's GPU
 * without it (precompile.py).
 */
#include <config.h>

#include <kettle/compiled.h>
#include <kettle/plugin.h>

#include "base/base.h"
#include "architecture.h"
#include "explain.h"
#include "kernelbot.h"
#include "single.h"

#define FOLDER ".kettle" /* in the job's folder */
#define RUN FOLDER "/run.py"
#define COMPILE FOLDER "/compile.py"
#define PREPARE FOLDER "/prepare.py"
#define PRECOMPILE FOLDER "/precompile.py"
#define CASES FOLDER "/cases"
#define BUILT FOLDER "/built.py"
#define HEADERS FOLDER "/headers.py"
#define INCLUDE FOLDER "/include/torch/extension.h" /* prepare.py makes compilers find it */
#define CACHE "cache"                               /* below out/: the caches of compilers */
#define BYTECODE "__pycache__"
#define PREPARE_ID "prepare"
#define PRECOMPILE_ID "precompile"
#define PRECOMPILE_SECONDS 300
#define PRECOMPILE_CPU 1200         /* its compilers may use several cores */
#define HEADER "extension.h.gch"    /* below out/ */
#define HEADER_SECONDS 900          /* on a machine that has much to do besides */
#define TORCH_TRACE "trace.json.gz" /* from torch's profiler, which the harness starts */
#define MAX_THREADS 4096
#define MIB (INT64_C(1) << 20)
#define MAX_SHARED (32 * 1024 * MIB)

/* The texts of the files beside this one, which plans carry. */
extern const char py_run_text[], py_compile_text[], py_prepare_text[], py_precompile_text[], py_built_text[],
	py_headers_text[];

/* Borrows all but modules, preload, recipes, alone, precompiles and steps. */
struct plan_builder {
	const struct kettle_plan_request *request;
	const json_t *options;
	const char *main, *solver; /* solver NULL: the harness is one program */
	json_t *modules;           /* names of the task's modules to compile */
	json_t *preload;           /* names of what a warm interpreter imports; NULL: the runs start cold */
	json_t *recipes;           /* words of the recipes that it follows after the imports */
	json_t *alone; /* recipes worth their cost for a job that is the only one; NULL: not even the imports are */
	bool prepares;
	bool extends;        /* prepares extensions of torch */
	json_t *precompiles; /* for this target of Triton; NULL: nothing is compiled for a GPU without one */
	json_t *steps;
};

static const struct kettle_option options[] = {
	{.key = "python",
		.type = KETTLE_OPTION_STRING,
		.default_value = "python3",
		.help = "The interpreter, Python 3.9 or newer: a name, which is looked up in kettle-exec's PATH, or an "
				"absolute path, such as that of a virtual environment."},
	{.key = "env", .type = KETTLE_OPTION_MAP, .help = "Further environment of every step; it overrides Kettle's."},
	{.key = "threads",
		.type = KETTLE_OPTION_INT,
		.min = 1,
		.max = MAX_THREADS,
		.help = "Threads that numerical libraries use; default: the number of the device's cores."},
	{.key = "prepare",
		.type = KETTLE_OPTION_STRING,
		.default_value = "auto",
		.choices = (const char *const[]){"auto", "always", "never", NULL},
		.help = "Whether a separate step imports the submission first, so that its compiled extensions are cached; "
				"auto: if a file mentions torch's cpp_extension."},
	{.key = "build_without_gpu",
		.type = KETTLE_OPTION_BOOL,
		.default_value = "false",
		.help =
			"Whether a separate step without the GPU compiles what a submission for a GPU compiles at its first call, "
			"with Triton or torch.compile, as far as that can be. This is not measured on a GPU."},
	{.key = "interpret",
		.type = KETTLE_OPTION_BOOL,
		.default_value = "false",
		.help = "Whether Triton's kernels run in its interpreter, on the CPU, to try tasks without a GPU; such scores "
				"mean nothing for a GPU."},
	{.key = "warm",
		.type = KETTLE_OPTION_BOOL,
		.default_value = "true",
		.help = "Whether runs start as copies of an interpreter that has imported what they use, if kettle-exec can do "
				"that."},
	{.key = "preload",
		.type = KETTLE_OPTION_STRINGS,
		.default_value = "[numpy, torch]",
		.help = "Modules that a warm interpreter imports if a file of the run imports them."},
};

static const char config_schema[] = "{\"type\": \"object\", \"additionalProperties\": false, \"required\": [\"main\"],"
									" \"properties\": {\"main\": {\"type\": \"string\", \"minLength\": 1},"
									" \"solver\": {\"type\": \"string\", \"minLength\": 1}}}";

/* The environment of every step. Folders are relative to the job's; run.py makes them absolute. */
static const struct {
	const char *name, *value;
} environment[] = {
	{"PYTHONDONTWRITEBYTECODE", "1"},
	{"PYTHONNOUSERSITE", "1"},
	{"PYTHONUNBUFFERED", "1"},   /* output before a timeout is kept */
	{"PYTHONFAULTHANDLER", "1"}, /* a crash in native code shows its Python line */
	{"PYTHONHASHSEED", "0"},     /* sets have the same order in every run */
	{"XLA_PYTHON_CLIENT_PREALLOCATE", "false"},
	/* JAX keeps everything that it compiled, however quickly and however small. */
	{"JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0"},
	{"JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1"},
};
static const struct {
	const char *name, *folder;
} caches[] = {
	{"TORCH_EXTENSIONS_DIR", "torch_extensions"},
	{"TORCHINDUCTOR_CACHE_DIR", "torchinductor"},
	{"TRITON_CACHE_DIR", "triton"},
	{"JAX_COMPILATION_CACHE_DIR", "jax"},
	{"NUMBA_CACHE_DIR", "numba"},
	{"CUPY_CACHE_DIR", "cupy"},
	{"CUDA_CACHE_PATH", "cuda"},
};
/*
 * A warm interpreter that serves a single job is worth its cost from this number of runs on: for its imports (""), for
 * a recipe, for any other recipe (docs/operating.md has the measurements).
 */
static const struct {
	const char *recipe;
	size_t runs;
} gains[] = {{"", 2}, {"torch.compile", 2}, {NULL, 4}};

/*
 * Flags for which torch's header is precompiled. The compiler takes the variant that fits its own flags, if one does.
 */
static const struct {
	const char *id, *path, *flag;
} header_variants[] = {
	{"header", INCLUDE ".gch/plain", NULL},
	{"header-O3", INCLUDE ".gch/O3", "-O3"},
};
static const char *const thread_counts[] = {
	"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS", "NUMBA_NUM_THREADS"};

/* ---- environment ---- */

static void
add_caches(json_t *env)
{
	char names[400] = "";
	size_t used = 0;
	for (size_t i = 0; i < ARRAY_SIZE(caches); i++) {
		used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s", i ? " " : "", caches[i].name);
		json_object_set_new(env, caches[i].name, json_sprintf("out/" CACHE "/%s", caches[i].folder));
	}
	json_object_set_new(env, "KETTLE_CACHES", json_string(names));
}

/* Returns a new environment of a step. `prepared` comes from the core, may be NULL and overrides the rest. */
static json_t *
make_environment(const struct plan_builder *builder, const json_t *prepared)
{
	json_t *env = json_object();
	const json_t *threads = json_object_get(builder->options, "threads"),
				 *more = json_object_get(builder->options, "env");
	for (size_t i = 0; i < ARRAY_SIZE(environment); i++)
		json_object_set_new(env, environment[i].name, json_string(environment[i].value));
	for (size_t i = 0; threads && i < ARRAY_SIZE(thread_counts); i++)
		json_object_set_new(env, thread_counts[i], json_sprintf("%" JSON_INTEGER_FORMAT, json_integer_value(threads)));
	if (member_true(builder->options, "interpret"))
		json_object_set_new(env, "TRITON_INTERPRET", json_string("1"));
	add_caches(env);
	architecture_add(env, builder->request->device);
	if (more)
		json_object_update(env, (json_t *)more);
	if (prepared)
		json_object_update(env, (json_t *)prepared);
	return env;
}

/* ---- steps ---- */

/* The name in the job's folder of a file of the task; NULL: it is not part of a run. */
static const char *
path_of(const struct plan_builder *builder, const char *name)
{
	bool adopted = kernelbot_is_adopted(builder->request->task);
	return adopted ? kernelbot_path(builder->request->files, name) : name;
}

static json_t *
make_inputs(const struct plan_builder *builder, const char *start, bool submission)
{
	json_t *inputs = json_pack("{s:{s:s}}", start, "file", start);
	json_object_each(builder->request->files, name, contents) {
		const char *path = path_of(builder, name);
		if (path && (submission || strcmp(name, builder->request->submission) != 0))
			json_object_set_new(inputs, path, json_pack("{s:s}", "file", name));
	}
	/* Build tools record this header when they compile: without it they would compile again. */
	if (builder->extends)
		json_object_set_new(inputs, INCLUDE, json_pack("{s:s}", "text", "#include_next <torch/extension.h>\n"));
	return inputs;
}

/* Reads only the task's files, so its cached output contains nothing of a submission. */
static json_t *
compile_step(const struct plan_builder *builder)
{
	json_t *argv = json_pack("[s, s, s]", json_text_or_null(builder->options, "python"), COMPILE, builder->main);
	json_t *inputs = json_pack("{s:{s:s}, s:{s:s}}", COMPILE, "file", COMPILE, builder->main, "file", builder->main);
	json_array_each(builder->modules, name) {
		const char *path = path_of(builder, json_string_value(name));
		json_array_append_new(argv, json_string(path));
		json_object_set_new(inputs, path, json_pack("{s:O}", "file", name));
	}
	return json_pack("{s:s, s:s, s:s, s:o, s:o, s:o, s:[s], s:b}", "id", EXPLAIN_BYTECODE, "kind", "build", "title",
		"compile the task's modules", "argv", argv, "env", make_environment(builder, NULL), "inputs", inputs, "outputs",
		BYTECODE, "cache", 1);
}

/* Precompiles torch's header, once for all jobs. */
static json_t *
header_step(const struct plan_builder *builder, size_t variant)
{
	json_t *argv = json_pack("[s, s, s]", json_text_or_null(builder->options, "python"), HEADERS, HEADER);
	/* Only the part of the environment that is the same for every device. */
	json_t *env = json_pack("{s:s, s:s}", "PYTHONDONTWRITEBYTECODE", "1", "PYTHONNOUSERSITE", "1");
	const json_t *more = json_object_get(builder->options, "env");
	if (more)
		json_object_update(env, (json_t *)more);
	if (header_variants[variant].flag)
		json_array_append_new(argv, json_string(header_variants[variant].flag));
	return json_pack("{s:s, s:s, s:s, s:o, s:o, s:{s:{s:s}}, s:{s:i}, s:[s], s:[s, s], s:b, s:b}", "id",
		header_variants[variant].id, "kind", "build", "title", "precompile torch's header", "argv", argv, "env", env,
		"inputs", HEADERS, "file", HEADERS, "limits", "wall", HEADER_SECONDS, "outputs", HEADER, "toolchain", "g++",
		"ninja", "cache", 1, "shared", 1);
}

/* Fails only if a compiler fails, so that after any other exception the runs still get its outputs. */
static json_t *
prepare_step(const struct plan_builder *builder)
{
	json_t *inputs = make_inputs(builder, PREPARE, true);
	for (size_t i = 0; builder->extends && i < ARRAY_SIZE(header_variants); i++)
		json_object_set_new(
			inputs, header_variants[i].path, json_pack("{s:s, s:s}", "step", header_variants[i].id, "output", HEADER));
	return json_pack("{s:s, s:s, s:s, s:[s, s, s], s:o, s:o, s:{s:O*}, s:[s], s:[s, s, s], s:b}", "id", PREPARE_ID,
		"kind", "prepare", "title", "compile extensions", "argv", json_text_or_null(builder->options, "python"),
		PREPARE, builder->request->submission, "env", make_environment(builder, NULL), "inputs", inputs, "limits",
		"memory", json_object_get(builder->request->task, "memory"), "outputs", CACHE, "toolchain", "g++", "ninja",
		"nvcc", "cache", 1);
}

/* The lines of all cases of the public runs. New reference. */
static json_t *
public_cases(const struct plan_builder *builder)
{
	json_t *all = json_string("");
	json_array_each(builder->request->runs, prepared) {
		const char *text = json_text_or_empty(json_object_get(prepared, "cases"), "text");
		bool secret = json_object_get(prepared, "secret") || member_true(json_object_get(prepared, "run"), "secret");
		if (secret || strstr(json_string_value(all), text))
			continue;
		json_t *more = json_sprintf("%s%s\n", json_string_value(all), text);
		json_decref(all);
		all = more;
	}
	return all;
}

/* The newest step that leaves caches of compilers for the runs. */
static const char *
cache_step(const struct plan_builder *builder)
{
	return builder->precompiles ? PRECOMPILE_ID : builder->prepares ? PREPARE_ID : NULL;
}

/* Compiles for the GPU what the submission compiles at its first call. */
static json_t *
precompile_step(const struct plan_builder *builder)
{
	json_int_t memory = member_int(builder->request->task, "memory");
	json_t *inputs = make_inputs(builder, PRECOMPILE, true);
	json_object_set_new(inputs, CASES, json_pack("{s:o}", "text", public_cases(builder)));
	if (builder->prepares)
		json_object_set_new(inputs, "out/" CACHE, json_pack("{s:s, s:s}", "step", PREPARE_ID, "output", CACHE));
	json_t *argv = json_pack("[s, s, s, O, s]", json_text_or_null(builder->options, "python"), PRECOMPILE,
		builder->request->submission, builder->precompiles, architecture_name(builder->request->device));
	return json_pack("{s:s, s:s, s:s, s:b, s:o, s:o, s:o, s:{s:o*, s:i, s:i}, s:[s], s:[s, s, s], s:b}", "id",
		PRECOMPILE_ID, "kind", "prepare", "title", "compile without the GPU", "optional", 1, "argv", argv, "env",
		make_environment(builder, NULL), "inputs", inputs, "limits", "memory", memory > 0 ? json_integer(memory) : NULL,
		"wall", PRECOMPILE_SECONDS, "cpu", PRECOMPILE_CPU, "outputs", CACHE, "toolchain", "g++", "ninja", "nvcc",
		"cache", 1);
}

static const char *const ncu_files[] = {"profile.ncu-rep", "ncu-details.txt", "ncu-details.csv", NULL};
static const char *const rocprof_files[] = {"trace.pftrace", NULL};

static void
add_profiler(const struct plan_builder *builder, json_t *step)
{
	/* A profiler serialises kernels: those that wait for each other would never end. */
	const char *profiler = member_int(step, "device") > 1 ? NULL : architecture_profiler(builder->request->device);
	json_object_set_new(step, "artifacts", json_pack("[s]", TORCH_TRACE));
	if (!profiler)
		return;
	const char *const *files = strcmp(profiler, "ncu") == 0 ? ncu_files : rocprof_files;
	json_object_set_new(step, "profile", json_string(profiler));
	for (; *files; files++)
		json_array_append_new(json_object_get(step, "artifacts"), json_string(*files));
}

static bool
has_gpu(const struct plan_builder *builder)
{
	return architecture_is_gpu(builder->request->device);
}

/* The warm start of a run: with the modules that task and submission import, or, of a referee that does not judge, bare. */
static json_t *
make_warm(const struct plan_builder *builder, bool submission)
{
	const char *python = json_text_or_null(builder->options, "python");
	if (!builder->preload)
		return NULL;
	if (!submission && has_gpu(builder))
		return json_pack("{s:s}", "tool", python);
	return json_pack("{s:s, s:O, s:O, s:O*}", "tool", python, "preload", builder->preload, "recipes", builder->recipes,
		"alone", builder->alone);
}

/* A process of a run that starts `program` through run.py, with or without the submission. New reference. */
static json_t *
make_process(const struct plan_builder *builder, const json_t *prepared, const char *program, bool submission)
{
	json_t *argv = json_pack("[s, s, s]", json_text_or_null(builder->options, "python"), RUN, program);
	json_t *env = make_environment(builder, json_object_get(prepared, "env"));
	json_t *inputs = make_inputs(builder, RUN, submission);
	const json_t *args = json_object_get(json_object_get(prepared, "run"), "args");
	if (builder->solver && submission)
		json_array_append(argv, json_array_get(args, 0)); /* the mode; the cases are the referee's */
	else
		json_array_extend(argv, (json_t *)args);
	if (submission) {
		json_object_set_new(env, EXPLAIN_SUBMISSION, json_string(builder->request->submission));
		json_object_set_new(env, EXPLAIN_DEVICE, json_string(json_text_or_null(builder->request->device, "name")));
	}
	if (json_array_size(builder->modules))
		json_object_set_new(inputs, BYTECODE, json_pack("{s:s, s:s}", "step", EXPLAIN_BYTECODE, "output", BYTECODE));
	if (submission && cache_step(builder))
		json_object_set_new(
			inputs, "out/" CACHE, json_pack("{s:s, s:s}", "step", cache_step(builder), "output", CACHE));
	if (submission && has_gpu(builder))
		json_object_set_new(inputs, BUILT, json_pack("{s:s}", "file", BUILT));
	return json_pack(
		"{s:o, s:o, s:o, s:o*}", "argv", argv, "env", env, "inputs", inputs, "warm", make_warm(builder, submission));
}

/*
 * Bytes of the memory by which a referee calls its solver: half of it is for inputs. What is not touched costs nothing,
 * and what is counts as the step's.
 */
static json_int_t
memory_shared(const json_t *prepared)
{
	json_int_t limit = member_int(json_object_get(prepared, "limits"), "memory");
	json_int_t wanted = limit > 0 && limit < MAX_SHARED / 2 ? 2 * limit : MAX_SHARED;
	return wanted / MIB * MIB + MIB;
}

static json_t *
run_step(const struct plan_builder *builder, const json_t *prepared, bool first)
{
	json_t *step = json_deep_copy(prepared);
	if (builder->solver) {
		json_object_del(step, "env");
		json_object_set_new(step, "referee", make_process(builder, prepared, builder->main, false));
		json_object_set_new(step, "solver", make_process(builder, prepared, builder->solver, true));
		if (!has_gpu(builder))
			json_object_set_new(step, "share", json_integer(memory_shared(prepared)));
	} else {
		json_object_update_new(step, make_process(builder, prepared, builder->main, true));
	}
	if (json_object_get(prepared, "secret"))
		json_object_set_new(step, "secret_fd", json_string("KETTLE_SECRET_FD"));
	json_object_set_new(step, "jit", json_pack("{s:s, s:[s, s]}", "folder", CACHE, "tools", "g++", "nvcc"));
	if (strcmp(builder->request->mode, "profile") == 0)
		add_profiler(builder, step);
	if (first && builder->prepares)
		kettle_compiled_need(step, PREPARE_ID);
	return step;
}

/* ---- the plan ---- */

static bool
is_module(const char *name)
{
	size_t len = strlen(name), plain = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_/");
	return len > 3 && plain == len - 3 && strcmp(name + plain, ".py") == 0;
}

/* Whether a file of the run names a function or module with which torch compiles extensions. */
static bool
names_extensions(const struct plan_builder *builder)
{
	bool compiles = false;
	json_object_each(builder->request->files, name, contents) {
		const char *text = json_text_or_empty(contents, "text");
		compiles = compiles || strstr(text, "cpp_extension") || strstr(text, "load_inline");
	}
	return compiles;
}

static bool
prepares(const struct plan_builder *builder, bool extends)
{
	bool wanted = extends || member_is(builder->options, "prepare", "always");
	return wanted && !member_is(builder->options, "prepare", "never") && is_module(builder->request->submission);
}

/* The names of the task's modules; empty where the task has bytecode of its own. New reference. */
static json_t *
modules_of(const struct plan_builder *builder)
{
	json_t *modules = json_array();
	bool brings = false;
	json_object_each(builder->request->files, name, contents) {
		const char *path = path_of(builder, name);
		brings = brings || strncmp(name, BYTECODE, strlen(BYTECODE)) == 0;
		if (path && is_module(path) && !strchr(path, '/') && strcmp(name, builder->request->submission) != 0)
			json_array_append_new(modules, json_string(name));
	}
	if (brings)
		json_array_clear(modules);
	return modules;
}

static int
check_files(const struct plan_builder *builder, struct kettle_error *err)
{
	const json_t *config = json_object_get(builder->request->task, "config");
	static const char *const programs[] = {"main", "solver"};
	for (size_t i = 0; !kernelbot_is_adopted(builder->request->task) && i < (builder->solver ? 2 : 1); i++)
		if (!json_object_get(builder->request->files, json_text_or_empty(config, programs[i])))
			return kettle_fail(err, KETTLE_EINVAL,
				"The task's config names `%.200s` as `%s`, but no entry of its `files` has that name.",
				json_text_or_empty(config, programs[i]), programs[i]);
	json_object_each(builder->request->files, name, contents)
		if (strncmp(name, FOLDER "/", strlen(FOLDER "/")) == 0)
			return kettle_fail(err, KETTLE_EINVAL,
				"The task has a file `%.200s`, and the folder `" FOLDER "` is reserved by Kettle; rename it.", name);
	return 0;
}

static void
add_steps(struct plan_builder *builder)
{
	size_t i;
	json_t *prepared;
	if (json_array_size(builder->modules))
		json_array_append_new(builder->steps, compile_step(builder));
	for (i = 0; builder->extends && i < ARRAY_SIZE(header_variants); i++)
		json_array_append_new(builder->steps, header_step(builder, i));
	if (builder->prepares)
		json_array_append_new(builder->steps, prepare_step(builder));
	if (builder->precompiles)
		json_array_append_new(builder->steps, precompile_step(builder));
	json_array_foreach(builder->request->runs, i, prepared)
		json_array_append_new(builder->steps, run_step(builder, prepared, i == 0));
}

/*
 * Whether the file is a helper of which every task has a copy, or every harness with a solver. Imports and names in its
 * functions say nothing about a run, which may not call them.
 */
static bool
is_helper(const struct plan_builder *builder, const char *name)
{
	const char *slash = strrchr(name, '/'), *base = slash ? slash + 1 : name;
	return strcmp(base, "utils.py") == 0 || (builder->solver && strcmp(base, "exchange.py") == 0);
}

/* Whether the text has a line `import NAME` or `from NAME`, `indented` or not. */
static bool
imports(const char *text, const char *module, bool indented)
{
	size_t len = strlen(module);
	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += strspn(line, indented ? " \t\n" : "\n");
		size_t word = strncmp(line, "import ", 7) == 0 ? 7 : strncmp(line, "from ", 5) == 0 ? 5 : 0;
		const char *name = line + word + strspn(line + word, " ");
		if (word && strncmp(name, module, len) == 0 && !single_is_word(name[len]))
			return true;
	}
	return false;
}

/* Whether a file of the run imports the module. */
static bool
builder_imports(const struct plan_builder *builder, const char *module)
{
	json_object_each(builder->request->files, name, contents)
		if (imports(json_text_or_null(contents, "text"), module, !is_helper(builder, name)))
			return true;
	return false;
}

/* The modules that a warm interpreter imports; NULL: the runs start cold. */
static json_t *
make_preload(const struct plan_builder *builder)
{
	/* Those of the standard library that Kettle's harness imports, as far as that takes long. */
	static const char *const own[] = {"_ctypes", "_pickle", "array", "json", "mmap", "resource", "signal", "struct"};
	json_t *list = member_true(builder->options, "warm") ? json_array() : NULL;
	for (size_t i = 0; list && builder->solver && i < ARRAY_SIZE(own); i++)
		json_array_append_new(list, json_string(own[i]));
	json_array_each(json_object_get(builder->options, "preload"), module)
		if (list && builder_imports(builder, json_string_value(module)))
			json_array_append(list, (json_t *)module);
	return list;
}

/* Whether a file of the run, the submission included, has the word, not as a part of a longer one. */
static bool
is_named(const struct plan_builder *builder, const char *word)
{
	size_t len = strlen(word);
	json_object_each(builder->request->files, name, contents)
		for (const char *text = json_text_or_empty(contents, "text"), *at = is_helper(builder, name) ? "" : text;
			 (at = strstr(at, word)); at++)
			if ((at == text || !single_is_word(at[-1])) && !single_is_word(at[len]))
				return true;
	return false;
}

/* Whether the task or its template imported the module when the task was tried. */
static bool
was_imported(const struct plan_builder *builder, const char *module)
{
	return list_has_text(json_object_get(builder->request->task, "imported"), module);
}

/* Whether a file of the run uses Triton by itself: torch's compiler imports it, too. */
static bool
imports_triton(const struct plan_builder *builder)
{
	return builder_imports(builder, "triton") ||
		   (was_imported(builder, "triton") && !was_imported(builder, "torch._dynamo"));
}

static bool
uses_torch_compiler(const struct plan_builder *builder)
{
	return is_named(builder, "torch.compile") || is_named(builder, "torch._inductor") ||
		   is_named(builder, "torch._dynamo") || was_imported(builder, "torch._inductor.compile_fx");
}

/*
 * Triton's target, if what the submission compiles at its first call is compiled without the GPU. Not for several GPUs:
 * their processes wait for each other. New reference or NULL.
 */
static json_t *
precompiles(const struct plan_builder *builder)
{
	bool wanted = member_true(builder->options, "build_without_gpu") && !member_true(builder->options, "interpret") &&
				  is_module(builder->request->submission) && !member_true(builder->request->task, "multi_gpu") &&
				  (imports_triton(builder) || uses_torch_compiler(builder));
	return wanted ? architecture_of_triton(builder->request->device) : NULL;
}

/* The recipe for the device's Triton; NULL: there is no GPU, or none is known. */
static json_t *
triton_recipe(const struct plan_builder *builder)
{
	AUTO_JSON json_t *target = architecture_of_triton(builder->request->device);
	return target ? json_sprintf("triton=%s", json_string_value(target)) : NULL;
}

/*
 * Chooses the recipes (recipes.py) of the warm interpreter by names in the files of the task and the submission, and
 * by what the task's own template and reference imported when the task was tried; never by what a submission did.
 */
static json_t *
make_recipes(const struct plan_builder *builder)
{
	static const struct {
		const char *module, *recipe;
	} imported[] = {{"jax", "jax"}, {"numba", "numba"}, {"cupy", "cupy"}, {"helion", "helion"}, {"cutlass", "cute"}};
	bool uses_triton = imports_triton(builder), compiles = uses_torch_compiler(builder);
	json_t *recipes = json_array(), *target = uses_triton ? triton_recipe(builder) : NULL;
	/* utils.py defines the latter two. */
	bool repeats = was_imported(builder, "torch._dynamo") ||
				   (builder_imports(builder, "torch") &&
					   (is_named(builder, "use_deterministic_algorithms") || is_named(builder, "deterministic") ||
						   is_named(builder, "DeterministicContext")));
	/*
	 * With a GPU, torch's compiler opens it, and an interpreter that has opened a GPU cannot be copied: the recipe for that
	 * is followed in each process that is prepared for one run.
	 */
	if (compiles)
		json_array_append_new(recipes, json_string(has_gpu(builder) ? "torch.compile.gpu" : "torch.compile"));
	if (repeats && (!compiles || has_gpu(builder)))
		json_array_append_new(recipes, json_string("torch.compiler"));
	if (target)
		json_array_append_new(recipes, target);
	else if (uses_triton)
		json_array_append_new(recipes, json_string("triton"));
	for (size_t i = 0; i < ARRAY_SIZE(imported); i++)
		if (builder_imports(builder, imported[i].module) || was_imported(builder, imported[i].module))
			json_array_append_new(recipes, json_string(imported[i].recipe));
	return recipes;
}

/* Whether a recipe, or the imports (""), is worth its cost for the runs of a single job. */
static bool
is_gain(const struct plan_builder *builder, const char *recipe)
{
	size_t runs = json_array_size(builder->request->runs), i = 0;
	while (i + 1 < ARRAY_SIZE(gains) && strcmp(gains[i].recipe, recipe) != 0)
		i++;
	return runs >= gains[i].runs;
}

/*
 * Returns the recipes that are worth their cost for a single job. New reference, or NULL if not even the imports are.
 */
static json_t *
make_alone(const struct plan_builder *builder)
{
	json_t *alone = is_gain(builder, "") ? json_array() : NULL;
	json_array_each(builder->recipes, recipe)
		if (alone && is_gain(builder, json_string_value(recipe)))
			json_array_append(alone, (json_t *)recipe);
	return alone;
}

/* The task's files and those of this plugin. */
static json_t *
make_files(const struct plan_builder *builder)
{
	json_t *files = json_copy((json_t *)builder->request->files);
	if (json_array_size(builder->modules))
		json_object_set_new(files, COMPILE, json_pack("{s:s}", "text", py_compile_text));
	if (builder->prepares)
		json_object_set_new(files, PREPARE, json_pack("{s:s}", "text", py_prepare_text));
	if (builder->precompiles)
		json_object_set_new(files, PRECOMPILE, json_pack("{s:s}", "text", py_precompile_text));
	if (has_gpu(builder))
		json_object_set_new(files, BUILT, json_pack("{s:s}", "text", py_built_text));
	if (builder->extends)
		json_object_set_new(files, HEADERS, json_pack("{s:s}", "text", py_headers_text));
	json_object_set_new(files, RUN, json_pack("{s:s}", "text", py_run_text));
	return files;
}

static int
py_plan(void *self, const struct kettle_plan_request *request, json_t **ret_plan, struct kettle_error *err)
{
	struct plan_builder builder = {
		.request = request,
		.options = ((struct kettle_compiled *)self)->options,
		.main = json_text_or_null(json_object_get(request->task, "config"), "main"),
		.solver = json_text_or_null(json_object_get(request->task, "config"), "solver"),
	};
	if (kernelbot_is_adopted(request->task))
		builder.main = builder.solver = KERNELBOT_MAIN;
	int rc = check_files(&builder, err);
	if (rc)
		return rc;
	builder.steps = json_array();
	builder.modules = modules_of(&builder);
	builder.extends = names_extensions(&builder);
	builder.prepares = prepares(&builder, builder.extends);
	builder.extends = builder.extends && builder.prepares;
	builder.precompiles = precompiles(&builder);
	builder.preload = make_preload(&builder);
	builder.recipes = make_recipes(&builder);
	builder.alone = make_alone(&builder);
	add_steps(&builder);
	*ret_plan = json_pack("{s:i, s:o, s:o}", "version", 1, "files", make_files(&builder), "steps", builder.steps);
	json_decref_all(builder.modules, builder.preload, builder.recipes, builder.alone, builder.precompiles);
	return 0;
}

static json_t *
py_tools(void *self)
{
	return json_pack("[s]", json_text_or_null(((struct kettle_compiled *)self)->options, "python"));
}

static const char *
py_remark(void *self)
{
	bool interprets = member_true(((struct kettle_compiled *)self)->options, "interpret");
	return interprets ? "Triton runs in its interpreter, so scores mean nothing for a GPU" : NULL;
}

static int
py_create(const struct kettle_host *host, void **ret_self, struct kettle_error *err)
{
	(void)host;
	return kettle_compiled_create(NULL, ret_self, err);
}

static int
py_configure(void *self, const json_t *section, struct kettle_error *err)
{
	const char *python = json_text_or_empty(section, "python");
	if (!python[0] || (python[0] != '/' && strchr(python, '/')))
		return kettle_blame(err, KETTLE_CAUSE_NONE, "python",
			kettle_fail(err, KETTLE_EINVAL,
				"`python` must be the name of an interpreter or its absolute path, not `%.200s`.", python));
	return kettle_compiled_configure(self, section, err);
}

/* ---- the plugin ---- */

static const struct kettle_skeleton skeletons[] = {
	{.template_name = "Python",
		.file_name = "submission.py",
		.text = "from task import input_t, output_t\n\n\ndef custom_kernel(data: input_t) -> output_t:\n"
				"    # Compute the output of data here and return it.\n    raise NotImplementedError\n"},
	{.template_name = "Triton",
		.file_name = "submission.py",
		.text = "import triton\nimport triton.language as tl\n\nfrom task import input_t, output_t\n\n\n@triton.jit\n"
				"def kernel(size, BLOCK: tl.constexpr):\n"
				"    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n\n\n"
				"def custom_kernel(data: input_t) -> output_t:\n"
				"    # Launch the kernel on data here and return its output.\n    raise NotImplementedError\n"},
	{.template_name = "CuteDSL",
		.file_name = "submission.py",
		.text = "import cutlass\nimport cutlass.cute as cute\n\nfrom task import input_t, output_t\n\n\n@cute.kernel\n"
				"def kernel():\n    thread, _, _ = cute.arch.thread_idx()\n\n\n"
				"def custom_kernel(data: input_t) -> output_t:\n"
				"    # Launch the kernel on data here and return its output.\n    raise NotImplementedError\n"},
};

static const struct kettle_harness_file harness[] = {
	{.name = "eval.py", .path = "eval.py"},
	{.name = "eval_kernelbot.py", .path = "eval_kernelbot.py"},
	{.name = "eval_single.py", .path = "eval_single.py"},
	{.name = "exchange.py", .path = "exchange.py"},
	{.name = "solver.py", .path = "solver.py"},
	{.name = "utils.py", .path = "utils.py"},
};

static const char *const aliases[] = {"python", "python3", NULL};
static const char *const extensions[] = {".py", NULL};
static const char *const template_names[] = {"Python", "Triton", "CuteDSL", NULL};

static const struct kettle_language language = {
	.size = sizeof(struct kettle_language),
	.aliases = aliases,
	.extensions = extensions,
	.comment = "#",
	.template_names = template_names,
	.config_schema = config_schema,
	KETTLE_LANGUAGE_SKELETONS(skeletons),
	KETTLE_LANGUAGE_HARNESS(harness),
	.plan = py_plan,
	.interpret = explain_outcome,
	.single_file = single_make,
	.tools = py_tools,
	.remark = py_remark,
	.judging = kernelbot_judging,
	.adopt = kernelbot_adopt,
};

const struct kettle_plugin kettle_plugin = {
	KETTLE_PLUGIN_HEAD(KETTLE_LANGUAGE),
	.name = "py",
	.version = PACKAGE_VERSION,
	.summary = "Python with numpy, torch, Triton, JAX",
	KETTLE_PLUGIN_OPTIONS(options),
	.create = py_create,
	.configure = py_configure,
	.destroy = kettle_compiled_destroy,
	.language = &language,
};
