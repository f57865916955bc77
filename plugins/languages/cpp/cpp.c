/* SPDX-License-Identifier: MIT */
/*
 * The language cpp: host C and C++ with OpenMP. Every source is compiled by a cached step of its own, so that of a
 * submission only its own file is ever compiled; the objects are linked into ./program, and that is what runs.
 */
#include <config.h>

#include <jansson.h>
#include <kettle/plugin.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "plugins/languages/cpp/cpp_harness.h"

#define CPP_STANDARD "c++17"
#define C_STANDARD "gnu11"
#define PROGRAM "program" /* what the link step makes and the runs start */
#define MAX_SOURCES 100

/* What configure left: the only state there is. */
struct cpp {
	json_t *options;
};

/* A plan while it is made; everything but the steps is borrowed. */
struct making {
	const struct kettle_plan_request *request;
	const json_t *options, *config;
	json_t *sources, *steps; /* new: names of the sources in order, the finished steps */
};

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
	"{\"type\": \"object\", \"additionalProperties\": false, \"properties\": {"
	"\"sources\": {\"type\": \"array\", \"minItems\": 1, \"maxItems\": 100, \"items\": {\"type\": \"string\"}},"
	"\"include_dirs\": {\"type\": \"array\", \"maxItems\": 100, \"items\": {\"$ref\": \"#/$defs/word\"}},"
	"\"defines\": {\"type\": \"object\", \"maxProperties\": 200,"
	" \"propertyNames\": {\"pattern\": \"^[A-Za-z_][A-Za-z0-9_]*$\"},"
	" \"additionalProperties\": {\"type\": [\"string\", \"integer\", \"boolean\", \"null\"], \"maxLength\": 1000}},"
	"\"compile_flags\": {\"type\": \"array\", \"maxItems\": 100, \"items\": {\"$ref\": \"#/$defs/word\"}},"
	"\"libraries\": {\"type\": \"array\", \"maxItems\": 100, \"items\": {\"$ref\": \"#/$defs/word\"}},"
	"\"standard\": {\"type\": \"string\", \"pattern\": \"^(c|gnu)(\\\\+\\\\+)?[0-9][0-9a-z]$\"}},"
	"\"$defs\": {\"word\": {\"type\": \"string\", \"minLength\": 1, \"maxLength\": 1000}}}";

static const char *const cxx_extensions[] = {".cpp", ".cc", ".cxx", NULL};
static const char *const c_extensions[] = {".c", NULL};
static const char *const header_extensions[] = {".h", ".hh", ".hpp", ".hxx", ".inl", ".inc", NULL};

static bool
ends_in(const char *name, const char *const *extensions)
{
	const char *dot = strrchr(name, '.');
	for (; dot && *extensions; extensions++)
		if (strcasecmp(dot, *extensions) == 0)
			return true;
	return false;
}

static bool
is_source(const char *name)
{
	return ends_in(name, cxx_extensions) || ends_in(name, c_extensions);
}

static bool
list_has(const json_t *list, const char *word)
{
	size_t i;
	json_t *item;
	json_array_foreach(list, i, item)
		if (strcmp(json_string_value(item), word) == 0)
			return true;
	return false;
}

/* Appends one formatted string. A list that ran out of memory becomes NULL, which json_pack then refuses. */
__attribute__((format(printf, 2, 3))) static void
add(json_t **list, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	if (*list && json_array_append_new(*list, json_vsprintf(format, args))) {
		json_decref(*list);
		*list = NULL;
	}
	va_end(args);
}

/* Appends each string of a list, which may be NULL, behind a prefix. */
static void
add_all(json_t **list, const char *prefix, const json_t *words)
{
	size_t i;
	json_t *word;
	json_array_foreach(words, i, word)
		add(list, "%s%s", prefix, json_string_value(word));
}

static const char *
option(const struct making *making, const char *key)
{
	return json_string_value(json_object_get(making->options, key));
}

/* The standard of the task where it is one of the source's own language, else the default. */
static const char *
standard_for(const struct making *making, bool cxx)
{
	const char *standard = json_string_value(json_object_get(making->config, "standard"));
	if (standard && cxx == (strchr(standard, '+') != NULL))
		return standard;
	return cxx ? CPP_STANDARD : C_STANDARD;
}

static void
add_defines(json_t **argv, const json_t *config)
{
	const char *key;
	json_t *value;
	json_object_foreach(json_object_get(config, "defines"), key, value)
		if (json_is_string(value))
			add(argv, "-D%s=%s", key, json_string_value(value));
		else if (json_is_null(value))
			add(argv, "-D%s", key);
		else
			add(argv, "-D%s=%" JSON_INTEGER_FORMAT, key,
				json_is_integer(value) ? json_integer_value(value) : json_is_true(value));
}

/* What compiling and linking have in common. */
static void
add_flags(const struct making *making, json_t **argv)
{
	add(argv, "-O3");
	if (option(making, "march") && *option(making, "march"))
		add(argv, "-march=%s", option(making, "march"));
	add(argv, "-fopenmp");
	add_all(argv, "", json_object_get(making->options, "flags"));
}

/* Files that a source may include: all that are not sources themselves. */
static json_t *
compile_inputs(const struct making *making, const char *source)
{
	json_t *inputs = json_object();
	const char *name;
	json_t *contents;
	json_object_foreach((json_t *)making->request->files, name, contents)
		if (strcmp(name, source) == 0 || !list_has(making->sources, name))
			json_object_set_new(inputs, name, json_pack("{s:s}", "file", name));
	return inputs;
}

static json_t *
compile_step(const struct making *making, size_t index)
{
	const char *source = json_string_value(json_array_get(making->sources, index));
	const char *slash = strrchr(source, '/');
	const char *base = slash ? slash + 1 : source;
	bool cxx = ends_in(source, cxx_extensions);
	json_t *argv = json_array();
	add(&argv, "%s", option(making, cxx ? "cxx" : "cc"));
	add(&argv, "-std=%s", standard_for(making, cxx));
	add_flags(making, &argv);
	add_defines(&argv, making->config);
	add_all(&argv, "-I", json_object_get(making->config, "include_dirs"));
	add_all(&argv, "", json_object_get(making->config, "compile_flags"));
	add(&argv, "-c");
	add(&argv, "%s", source);
	add(&argv, "-o");
	add(&argv, "out/%s.o", base);
	return json_pack("{s:o, s:s, s:o, s:o, s:o, s:[o], s:b}", "id", json_sprintf("compile-%zu", index), "kind", "build",
		"title", json_sprintf("compile %s", source), "argv", argv, "inputs", compile_inputs(making, source), "outputs",
		json_sprintf("%s.o", base), "cache", 1);
}

/* The compiler driver of the link: C++ as soon as one source is. */
static bool
links_cxx(const struct making *making)
{
	size_t i;
	json_t *source;
	json_array_foreach(making->sources, i, source)
		if (ends_in(json_string_value(source), cxx_extensions))
			return true;
	return false;
}

static json_t *
link_step(const struct making *making)
{
	json_t *argv = json_array(), *needs = json_array(), *inputs = json_object();
	add(&argv, "%s", option(making, links_cxx(making) ? "cxx" : "cc"));
	add_flags(making, &argv);
	add_all(&argv, "", json_object_get(making->config, "compile_flags"));
	for (size_t i = 0; i < json_array_size(making->sources); i++) {
		const char *source = json_string_value(json_array_get(making->sources, i));
		const char *slash = strrchr(source, '/');
		json_t *object = json_sprintf("%s.o", source);
		add(&needs, "compile-%zu", i);
		add(&argv, "%s.o", source);
		json_object_set_new(inputs, json_string_value(object),
			json_pack("{s:o, s:o}", "step", json_sprintf("compile-%zu", i), "output",
				json_sprintf("%s.o", slash ? slash + 1 : source)));
		json_decref(object);
	}
	add(&argv, "-o");
	add(&argv, "out/" PROGRAM);
	add_all(&argv, "-l", json_object_get(making->config, "libraries"));
	add_all(&argv, "-l", json_object_get(making->request->task, "libraries"));
	add(&argv, "-lm");
	return json_pack("{s:s, s:s, s:s, s:o, s:o, s:o, s:[s], s:b}", "id", "link", "kind", "build", "title", "link",
		"needs", needs, "argv", argv, "inputs", inputs, "outputs", PROGRAM, "cache", 1);
}

/* Completes one prepared run. It sees the program and the task's data, not the code. */
static json_t *
run_step(const struct making *making, const json_t *prepared, bool first)
{
	json_t *step = json_deep_copy(prepared), *argv = json_array(), *inputs = json_object();
	const char *name;
	json_t *contents;
	json_object_foreach((json_t *)making->request->files, name, contents)
		if (!is_source(name) && !ends_in(name, header_extensions) && strcmp(name, making->request->submission) != 0)
			json_object_set_new(inputs, name, json_pack("{s:s}", "file", name));
	json_object_set_new(inputs, PROGRAM, json_pack("{s:s, s:s}", "step", "link", "output", PROGRAM));
	add(&argv, "./" PROGRAM);
	add_all(&argv, "", json_object_get(json_object_get(prepared, "run"), "args"));
	json_object_set_new(step, "argv", argv);
	json_object_set_new(step, "inputs", inputs);
	if (first) {
		json_t *needs = json_pack("[s]", "link");
		json_array_extend(needs, json_object_get(prepared, "needs"));
		json_object_set_new(step, "needs", needs);
	}
	return step;
}

static int
fail_memory(struct kettle_error *err)
{
	return kettle_fail(err, KETTLE_ENOMEM, "There is not enough memory to plan the job.");
}

/* One entry of the task's `sources`. */
static int
take_source(struct making *making, const char *name, struct kettle_error *err)
{
	if (!json_object_get(making->request->files, name))
		return kettle_fail(err, KETTLE_EINVAL,
			"The task's config lists `%.200s` in `sources`, but no entry of its `files` has that name.", name);
	if (!is_source(name))
		return kettle_fail(err, KETTLE_EINVAL,
			"The task's config lists `%.200s` in `sources`, but a source in C or C++ ends in .cpp, .cc, .cxx or .c.",
			name);
	if (list_has(making->sources, name))
		return kettle_fail(err, KETTLE_EINVAL, "The task's config lists `%.200s` twice in `sources`.", name);
	return json_array_append_new(making->sources, json_string(name)) ? fail_memory(err) : 0;
}

/* The sources that the task lists, or every file that is one. */
static int
find_sources(struct making *making, struct kettle_error *err)
{
	const json_t *listed = json_object_get(making->config, "sources");
	const char *name;
	json_t *value;
	size_t i;
	int rc = 0;
	json_array_foreach(listed, i, value)
		if (rc == 0)
			rc = take_source(making, json_string_value(value), err);
	json_object_foreach((json_t *)making->request->files, name, value)
		if (rc == 0 && !listed && is_source(name))
			rc = take_source(making, name, err);
	if (rc == 0 && json_array_size(making->sources) == 0)
		rc = kettle_fail(
			err, KETTLE_EINVAL, "The task has nothing to compile: none of its files ends in .cpp, .cc, .cxx or .c.");
	if (rc == 0 && json_array_size(making->sources) > MAX_SOURCES)
		rc = kettle_fail(err, KETTLE_EINVAL, "The task has %zu files to compile; at most %d are possible.",
			json_array_size(making->sources), MAX_SOURCES);
	if (rc == 0 && json_object_get(making->request->files, PROGRAM))
		rc = kettle_fail(err, KETTLE_EINVAL,
			"The task has a file `" PROGRAM "`, which is the name that the built program gets; name it otherwise.");
	return rc;
}

static int
add_steps(struct making *making, struct kettle_error *err)
{
	size_t i;
	json_t *prepared;
	int failed = 0;
	for (i = 0; i < json_array_size(making->sources); i++)
		failed |= json_array_append_new(making->steps, compile_step(making, i));
	failed |= json_array_append_new(making->steps, link_step(making));
	json_array_foreach(making->request->runs, i, prepared)
		failed |= json_array_append_new(making->steps, run_step(making, prepared, i == 0));
	return failed ? fail_memory(err) : 0;
}

static int
cpp_plan(void *self, const struct kettle_plan_request *request, json_t **ret_plan, struct kettle_error *err)
{
	struct making making = {
		.request = request,
		.options = ((struct cpp *)self)->options,
		.config = json_object_get(request->task, "config"),
		.sources = json_array(),
		.steps = json_array(),
	};
	int rc = find_sources(&making, err);
	if (rc == 0)
		rc = add_steps(&making, err);
	if (rc == 0) {
		json_t *plan = json_pack("{s:i, s:O, s:O}", "version", 1, "files", request->files, "steps", making.steps);
		if (plan)
			*ret_plan = plan;
		else
			rc = fail_memory(err);
	}
	json_decref(making.sources);
	json_decref(making.steps);
	return rc;
}

/* ---- single reference files ---- */

static const char single_description[] =
	"Define `custom_kernel` as `reference.h` defines `ref_kernel`: the same input, the same result, in less time. Ten "
	"fresh inputs are checked, a hundred calls are timed.";

static const char single_template[] =
	"#include \"reference.h\"\n\noutput_t\ncustom_kernel(input_t input)\n{\n\treturn ref_kernel(input);\n}\n";

/* What a reference must define; the rest is for the compiler to say. */
static int
check_reference(const char *name, const char *text, struct kettle_error *err)
{
	static const char *const needed[] = {
		"input_t", "output_t", "generate_input", "ref_kernel", "check_implementation", NULL};
	for (size_t i = 0; needed[i]; i++)
		if (!strstr(text, needed[i]))
			return kettle_fail(err, KETTLE_EINVAL,
				"The reference `%s` does not define `%s`; it must define input_t, output_t, generate_input(), "
				"ref_kernel(input_t) and check_implementation(output_t, output_t).",
				name, needed[i]);
	return 0;
}

static int
cpp_single_file(
	void *self, const char *name, const char *text, size_t size, json_t **ret_task, struct kettle_error *err)
{
	(void)self;
	(void)size;
	int rc = check_reference(name, text, err);
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
		return fail_memory(err);
	*ret_task = made;
	return 0;
}

static int
cpp_create(const struct kettle_host *host, void **ret_self, struct kettle_error *err)
{
	(void)host;
	struct cpp *cpp = calloc(1, sizeof(*cpp));
	if (!cpp)
		return fail_memory(err);
	*ret_self = cpp;
	return 0;
}

static int
cpp_configure(void *self, const json_t *section, struct kettle_error *err)
{
	struct cpp *cpp = self;
	json_t *copy = json_deep_copy(section);
	if (!copy)
		return fail_memory(err);
	json_decref(cpp->options);
	cpp->options = copy;
	return 0;
}

static void
cpp_destroy(void *self)
{
	struct cpp *cpp = self;
	if (cpp)
		json_decref(cpp->options);
	free(cpp);
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
	.create = cpp_create,
	.configure = cpp_configure,
	.destroy = cpp_destroy,
	.language = &language,
};
