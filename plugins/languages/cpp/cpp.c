/* SPDX-License-Identifier: MIT */
/*
 * The language cpp: host C and C++ with OpenMP. Every source is compiled by a cached step of its own, so that of a
 * submission only its own file is ever compiled; the objects are linked into ./program, and that is what runs.
 */
#include <config.h>

#include <jansson.h>
#include <kettle/plugin.h>
#include <stdbool.h>
#include <string.h>

#include "plugins/languages/compiled/compiled.h"
#include "plugins/languages/compiled/lacks.h"
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
		.help = "The processor to compile for, as the compiler's -march takes it; empty leaves it to the compiler."},
};

static const char config_schema[] =
	"{\"type\": \"object\", \"additionalProperties\": false, \"properties\": {" COMPILED_CONFIG_PROPERTIES
	"}, \"$defs\": {" COMPILED_CONFIG_DEFS "}}";

static const char *const cxx_extensions[] = {".cpp", ".cc", ".cxx", NULL};
static const char *const source_extensions[] = {".cpp", ".cc", ".cxx", ".c", NULL};
static const char *const header_extensions[] = {".h", ".hh", ".hpp", ".hxx", ".inl", ".inc", NULL};

/* The standard of the task where it is one of the source's own language, else the default. */
static const char *
standard_for(const struct compiled_making *making, bool cxx)
{
	const char *standard = json_string_value(json_object_get(making->config, "standard"));
	if (standard && cxx == (strchr(standard, '+') != NULL))
		return standard;
	return cxx ? CPP_STANDARD : C_STANDARD;
}

/* What compiling and linking have in common. */
static void
add_flags(const struct compiled_making *making, json_t **argv)
{
	const char *march = compiled_option(making, "march");
	compiled_add(argv, "-O3");
	if (march && *march)
		compiled_add(argv, "-march=%s", march);
	compiled_add(argv, "-fopenmp");
	/* A profiler finds callers by frame pointers; the code is otherwise the same. */
	if (compiled_profiles(making))
		compiled_add(argv, "-fno-omit-frame-pointer");
	compiled_add_all(argv, "", json_object_get(making->options, "flags"));
}

static json_t *
cpp_compile(const struct compiled_making *making, const char *source)
{
	bool cxx = compiled_ends_in(source, cxx_extensions);
	json_t *argv = json_array();
	compiled_add(&argv, "%s", compiled_option(making, cxx ? "cxx" : "cc"));
	compiled_add(&argv, "-std=%s", standard_for(making, cxx));
	add_flags(making, &argv);
	compiled_add_config(making, &argv);
	return argv;
}

/* The compiler driver of the link: C++ as soon as one source is. */
static bool
links_cxx(const struct compiled_making *making)
{
	size_t i;
	json_t *source;
	json_array_foreach(making->sources, i, source)
		if (compiled_ends_in(json_string_value(source), cxx_extensions))
			return true;
	return false;
}

static json_t *
cpp_link(const struct compiled_making *making)
{
	json_t *argv = json_array();
	compiled_add(&argv, "%s", compiled_option(making, links_cxx(making) ? "cxx" : "cc"));
	add_flags(making, &argv);
	compiled_add_all(&argv, "", json_object_get(making->config, "compile_flags"));
	compiled_add_objects(making, &argv);
	compiled_add(&argv, "-o");
	compiled_add(&argv, "out/" COMPILED_PROGRAM);
	compiled_add_libraries(making, &argv);
	compiled_add(&argv, "-lm");
	return argv;
}

static const char *const profile_files[] = {"flamegraph.svg", "stacks.txt", NULL};

static const struct compiled_rules rules = {
	.sources = source_extensions,
	.headers = header_extensions,
	.wanted = "a source in C or C++ ends in .cpp, .cc, .cxx or .c",
	.found = "none of its files ends in .cpp, .cc, .cxx or .c",
	.compile = cpp_compile,
	.link = cpp_link,
	.profiler = "perf",
	.profile_files = profile_files,
};

static int
cpp_plan(void *self, const struct kettle_plan_request *request, json_t **ret_plan, struct kettle_error *err)
{
	struct compiled_making making = {
		.request = request, .rules = &rules, .options = ((struct compiled_self *)self)->options};
	return compiled_plan(&making, ret_plan, err);
}

static int
cpp_probe(void *self, const struct kettle_plan_request *request, json_t **ret_plan, struct kettle_error *err)
{
	static const char *const none[] = {NULL};
	return compiled_probe(self, request, &rules, none, cpp_plan, ret_plan, err);
}

/* A library that is missing is the machine's fault; all else the core reads as well. */
static int
cpp_interpret(void *self, const json_t *step, const json_t *outcome, json_t **ret_verdict, struct kettle_error *err)
{
	(void)self;
	return lacks_explain_library(NULL, step, outcome, ret_verdict, err);
}

/* ---- single reference files ---- */

static const char single_description[] =
	"Define `custom_kernel` as `reference.h` defines `ref_kernel`: the same input, the same result, in less time. Ten "
	"fresh inputs are checked, a hundred calls are timed.";

static const char single_template[] =
	"#include \"reference.h\"\n\noutput_t\ncustom_kernel(input_t input)\n{\n\treturn ref_kernel(input);\n}\n";

static int
cpp_single_file(
	void *self, const char *name, const char *text, size_t size, json_t **ret_task, struct kettle_error *err)
{
	(void)self;
	(void)size;
	int rc = compiled_check_reference(name, text, err);
	if (rc)
		return rc;
	json_t *task =
		json_pack("{s:s, s:s, s:[{s:s, s:s}, {s:s, s:s}, {s:s, s:s}, {s:s, s:s}, {s:s, s:s}, {s:s, s:s}], s:{s:[s]},"
				  " s:{s:s}, s:[{s:i}], s:[{s:i}], s:s}",
			"lang", "cpp", "description", single_description, "files", "name", "eval_single.cpp", "source",
			"eval_single.cpp", "name", "eval.cpp", "source", "eval.cpp", "name", "harness.h", "source", "harness.h",
			"name", "utils.h", "source", "utils.h", "name", "reference.h", "source", "reference.h", "name", "train.h",
			"source", "@SUBMISSION@", "config", "sources", "eval_single.cpp", "templates", "CPP", "train.h", "tests",
			"seed", 4242, "benchmarks", "seed", 93246, "ranking_by", "last");
	/* A reference without a guard may be included by the submission as well; behind the text no line moves. */
	json_t *reference = json_sprintf("%s\n#pragma once\n", text);
	json_t *made = json_pack("{s:o, s:{s:{s:s}, s:{s:s}, s:{s:s}, s:{s:s}, s:{s:o}}, s:{s:{s:s, s:s}}}", "task", task,
		"files", "eval_single.cpp", "text", cpp_eval_single, "eval.cpp", "text", cpp_eval, "harness.h", "text",
		cpp_harness, "utils.h", "text", cpp_utils, "reference.h", "text", reference, "templates", "CPP", "file_name",
		"train.h", "text", single_template);
	if (!made)
		return compiled_fail_memory(err);
	*ret_task = made;
	return 0;
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
	.config_schema = config_schema,
	.skeletons = skeletons,
	.skeletons_count = sizeof(skeletons) / sizeof(skeletons[0]),
	.skeleton_size = sizeof(skeletons[0]),
	.harness = harness,
	.harness_count = sizeof(harness) / sizeof(harness[0]),
	.harness_file_size = sizeof(harness[0]),
	.plan = cpp_plan,
	.interpret = cpp_interpret,
	.probe = cpp_probe,
	.single_file = cpp_single_file,
	.references = no_references,
	.other_references = other_references,
	.other_hint = "makes a CUDA board, for which the language cu is not loaded; for a host C++ board say --lang cpp.",
};

const struct kettle_plugin kettle_plugin = {
	.magic = KETTLE_PLUGIN_MAGIC,
	.abi_major = KETTLE_ABI_MAJOR,
	.abi_minor = KETTLE_ABI_MINOR,
	.size = sizeof(struct kettle_plugin),
	.kind = KETTLE_LANGUAGE,
	.name = "cpp",
	.version = PACKAGE_VERSION,
	.summary = "host C and C++ with OpenMP",
	.options = options,
	.options_count = sizeof(options) / sizeof(options[0]),
	.option_size = sizeof(options[0]),
	.create = compiled_create,
	.configure = compiled_configure,
	.destroy = compiled_destroy,
	.language = &language,
};
