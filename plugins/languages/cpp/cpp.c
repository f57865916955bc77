/* SPDX-License-Identifier: MIT */
/*
 * The language cpp: host C and C++ with OpenMP. Every source is compiled by a cached step of its own, so a
 * submission compiles only its own file; the objects are linked into ./program, and the runs start that.
 */
#include <config.h>

#include <kettle/compiled.h>
#include <kettle/plugin.h>
#include <stdbool.h>

#include "base/json_access.h"
#include "plugins/languages/cpp/cpp_harness.h"

#define CPP_STANDARD "c++17"
#define C_STANDARD "gnu11"

static const struct kettle_option options[] = {
	{.key = "cxx",
		.type = KETTLE_OPTION_STRING,
		.default_value = "g++",
		.help = "The tool that compiles C++ and links."},
	{.key = "cc", .type = KETTLE_OPTION_STRING, .default_value = "gcc", .help = "The tool that compiles C."},
	{.key = "flags",
		.type = KETTLE_OPTION_STRINGS,
		.help = "Flags for every compile and link step, before those of the task."},
	{.key = "march",
		.type = KETTLE_OPTION_STRING,
		.default_value = "native",
		.help = "The processor to compile for, as a value of the compiler's -march; if empty, the compiler decides."},
};

static const char *const source_extensions[] = {".cpp", ".cc", ".cxx", ".c", NULL};
static const char *const header_extensions[] = {".h", ".hh", ".hpp", ".hxx", ".inl", ".inc", NULL};

/* Appends the flags of both compiling and linking. */
static void
add_flags(const struct kettle_compiled_builder *builder, json_t *argv)
{
	const char *march = kettle_compiled_option(builder, "march");
	kettle_args_add(argv, "-O3");
	if (march && *march)
		kettle_args_add(argv, "-march=%s", march);
	kettle_args_add(argv, "-fopenmp");
	/* A profiler finds callers by frame pointers; the code is otherwise the same. */
	if (kettle_compiled_profiles(builder))
		kettle_args_add(argv, "-fno-omit-frame-pointer");
	kettle_args_add_list(argv, "", json_object_get(builder->options, "flags"));
}

static json_t *
cpp_compile(const struct kettle_compiled_builder *builder, const char *source)
{
	json_t *argv = json_pack("[s]", kettle_compiled_option(builder, kettle_compiled_is_c(source) ? "cc" : "cxx"));
	kettle_compiled_add_standard(builder, source, C_STANDARD, CPP_STANDARD, argv);
	add_flags(builder, argv);
	kettle_compiled_add_config(builder, argv);
	return argv;
}

/* The compiler driver of the link: C++ as soon as one source is. */
static bool
links_cxx(const struct kettle_compiled_builder *builder)
{
	json_array_each(builder->sources, source)
		if (!kettle_compiled_is_c(json_string_value(source)))
			return true;
	return false;
}

static json_t *
cpp_link(const struct kettle_compiled_builder *builder)
{
	json_t *argv = json_pack("[s]", kettle_compiled_option(builder, links_cxx(builder) ? "cxx" : "cc"));
	add_flags(builder, argv);
	kettle_args_add_list(argv, "", json_object_get(builder->config, "compile_flags"));
	kettle_compiled_add_objects(builder, argv);
	kettle_compiled_add_libraries(builder, argv);
	kettle_args_add(argv, "-lm");
	return argv;
}

/* Always true: only -flto changes an object's symbols, and kettle/compiled.h undoes it. */
static bool
cpp_apart(const struct kettle_compiled_builder *builder)
{
	(void)builder;
	return true;
}

static const char *const profile_files[] = {"flamegraph.svg", "stacks.txt", NULL};

static const struct kettle_compiled_rules rules = {
	.title = "C or C++",
	.sources = source_extensions,
	.headers = header_extensions,
	.compile = cpp_compile,
	.link = cpp_link,
	.apart = cpp_apart,
	.profiler = "perf",
	.profile_files = profile_files,
};

static int
create(const struct kettle_host *host, void **ret_self, struct kettle_error *err)
{
	(void)host;
	return kettle_compiled_create(&rules, ret_self, err);
}

/* ---- single reference files ---- */

static const char *const harness_texts[][2] = {
	{"eval_single.cpp", cpp_eval_single}, {"eval.cpp", cpp_eval}, {"harness.h", cpp_harness}, {"utils.h", cpp_utils}};

static const struct kettle_compiled_single single = {
	.lang = "cpp",
	.template_name = "CPP",
	.reference = "reference.h",
	.submission = "train.h",
	.measured = "",
	.harness = harness_texts,
	.harness_count = sizeof(harness_texts) / sizeof(harness_texts[0]),
};

static int
cpp_single_file(
	void *self, const char *name, const char *text, size_t size, json_t **ret_task, struct kettle_error *err)
{
	(void)self, (void)size;
	return kettle_compiled_single(&single, name, text, ret_task, err);
}

static json_t *
cpp_tools(void *self)
{
	const struct kettle_compiled *language = self;
	return json_pack("[O*, O*]", json_object_get(language->options, "cxx"), json_object_get(language->options, "cc"));
}

static const struct kettle_skeleton skeletons[] = {
	{.template_name = "CPP",
		.file_name = "submission.cpp",
		.text = "#include \"task.h\"\n\n// Define here the function that task.h declares.\n"},
};

static const struct kettle_harness_file harness[] = {
	{.name = "eval.cpp", .path = "eval.cpp"},
	{.name = "eval_single.cpp", .path = "eval_single.cpp"},
	{.name = "harness.h", .path = "harness.h"},
	{.name = "utils.h", .path = "utils.h"},
};

static const char *const aliases[] = {"c++", "cxx", "c", NULL};
static const char *const extensions[] = {".cpp", ".cc", ".cxx", ".c", ".h", ".hpp", NULL};
static const char *const no_references[] = {NULL};
static const char *const other_references[] = {".cpp", ".cu", ".cuh", NULL};
static const char *const template_names[] = {"CPP", "C++", NULL};

static const struct kettle_language language = {
	.size = sizeof(struct kettle_language),
	.aliases = aliases,
	.extensions = extensions,
	.comment = "//",
	.template_names = template_names,
	.config_schema = KETTLE_COMPILED_CONFIG(KETTLE_COMPILED_STANDARD),
	KETTLE_LANGUAGE_SKELETONS(skeletons),
	KETTLE_LANGUAGE_HARNESS(harness),
	.plan = kettle_compiled_plan,
	.interpret = kettle_compiled_interpret,
	.probe = kettle_compiled_probe,
	.single_file = cpp_single_file,
	.tools = cpp_tools,
	.references = no_references,
	.other_references = other_references,
	.other_hint = "makes a CUDA task, for which the language cu is not loaded; for a host C++ task, name the language "
				  "cpp (`lang`).",
};

const struct kettle_plugin kettle_plugin = {
	KETTLE_PLUGIN_HEAD(KETTLE_LANGUAGE),
	.name = "cpp",
	.version = PACKAGE_VERSION,
	.summary = "host C and C++ with OpenMP",
	KETTLE_PLUGIN_OPTIONS(options),
	.create = create,
	.configure = kettle_compiled_configure,
	.destroy = kettle_compiled_destroy,
	.language = &language,
};
