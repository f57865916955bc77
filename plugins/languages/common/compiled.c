/* SPDX-License-Identifier: MIT */
/*
 * Code that languages of compiled sources share: sources, objects, one program, its runs, boards of a single reference
 * file.
 */
#include <config.h>

#include <kettle/compiled.h>
#include <kettle/explain.h>
#include <stdarg.h>

#include "base/base.h"
#include "base/file_name.h"

bool
kettle_compiled_ends_in(const char *name, const char *const *endings)
{
	const char *dot = strrchr(name, '.');
	for (; dot && *endings; endings++)
		if (strcasecmp(dot, *endings) == 0)
			return true;
	return false;
}

bool
kettle_compiled_is_c(const char *source)
{
	static const char *const c[] = {".c", NULL};
	return kettle_compiled_ends_in(source, c);
}

bool
kettle_compiled_rtc(const struct kettle_compiled_builder *builder)
{
	return member_true(builder->config, "rtc");
}

bool
kettle_compiled_profiles(const struct kettle_compiled_builder *builder)
{
	return strcmp(builder->request->mode, "profile") == 0;
}

const char *
kettle_compiled_option(const struct kettle_compiled_builder *builder, const char *key)
{
	return json_text_or_null(builder->options, key);
}

/* ---- arguments ---- */

void
kettle_args_add(json_t *list, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	json_array_append_new(list, json_vsprintf(format, args));
	va_end(args);
}

void
kettle_args_add_words(json_t *args, const char *const *words)
{
	for (; words && *words; words++)
		kettle_args_add(args, "%s", *words);
}

void
kettle_args_add_list(json_t *list, const char *prefix, const json_t *words)
{
	json_array_each(words, word)
		kettle_args_add(list, "%s%s", prefix, json_string_value(word));
}

void
kettle_compiled_add_standard(
	const struct kettle_compiled_builder *builder, const char *source, const char *c, const char *cxx, json_t *args)
{
	const char *standard = json_text_or_null(builder->config, "standard");
	bool is_c = kettle_compiled_is_c(source);
	const char *own = is_c ? c : cxx;
	if (own && standard && is_c == !strchr(standard, '+'))
		own = standard;
	if (own)
		kettle_args_add(args, "-std=%s", own);
}

void
kettle_compiled_add_defines(const struct kettle_compiled_builder *builder, json_t *argv)
{
	json_object_each(json_object_get(builder->config, "defines"), key, value)
		if (json_is_string(value))
			kettle_args_add(argv, "-D%s=%s", key, json_string_value(value));
		else if (json_is_null(value))
			kettle_args_add(argv, "-D%s", key);
		else
			kettle_args_add(argv, "-D%s=%" JSON_INTEGER_FORMAT, key,
				json_is_integer(value) ? json_integer_value(value) : json_is_true(value));
}

void
kettle_compiled_add_config(const struct kettle_compiled_builder *builder, json_t *argv)
{
	kettle_compiled_add_defines(builder, argv);
	kettle_args_add_list(argv, "-I", json_object_get(builder->config, "include_dirs"));
	kettle_args_add_list(argv, "", json_object_get(builder->config, "compile_flags"));
}

void
kettle_compiled_add_objects(const struct kettle_compiled_builder *builder, json_t *argv)
{
	json_array_each(builder->sources, source)
		kettle_args_add(argv, "%s%s", json_string_value(source), builder->rules->compile ? ".o" : "");
	kettle_args_add(argv, "-o");
	kettle_args_add(argv, "out/" KETTLE_COMPILED_PROGRAM);
}

void
kettle_compiled_add_libraries(const struct kettle_compiled_builder *builder, json_t *argv)
{
	kettle_args_add_list(argv, "-l", json_object_get(builder->config, "libraries"));
	kettle_args_add_list(argv, "-l", json_object_get(builder->request->task, "libraries"));
}

/* ---- steps ---- */

/* Whether the file is the submission and has a step of its own. */
static bool
is_apart(const struct kettle_compiled_builder *builder, const char *name)
{
	return kettle_compiled_rtc(builder) && strcmp(name, builder->request->submission) == 0;
}

json_t *
kettle_compiled_inputs(const struct kettle_compiled_builder *builder, const char *source)
{
	json_t *inputs = json_object();
	json_object_each(builder->request->files, name, contents)
		if (strcmp(name, source) == 0 ||
			((!builder->rules->compile || !list_has_text(builder->sources, name)) && !is_apart(builder, name)))
			json_object_set_new(inputs, name, json_pack("{s:s}", "file", name));
	return inputs;
}

static void
add_build_step(const struct kettle_compiled_builder *builder, json_t *step_take)
{
	if (builder->rules->finish_step)
		builder->rules->finish_step(builder, step_take);
	json_array_append_new(builder->steps, step_take);
}

/* Returns a new input: the output `object` of a step. */
static json_t *
output_of(json_t *step_take, const char *object)
{
	return json_pack("{s:o, s:s}", "step", step_take, "output", object);
}

/* ---- the submission apart from the task ---- */

/*
 * The submission's object may define symbols that the harness (a weak template) or one of its libraries defines too,
 * and the linker would use the submission's definition everywhere. So one step links the task without the submission
 * and lists the symbols that the task lacks; a second step makes all other symbols of the submission's object local.
 */
#define WANTED "wanted"
/* Recognises the messages of GNU's linkers and of LLVM's. */
static const char find_wanted[] = "LC_ALL=C \"$@\" 2>\"$TMPDIR/errors\" || { cat \"$TMPDIR/errors\" >&2; exit 1; }\n"
								  "{ echo '# what the submission defines for the task'\n"
								  "sed -n \"s/.*undefined reference to [\\`']\\([^']*\\)'.*/\\1/p; s/.*undefined "
								  "\\([a-z]* \\)\\{0,1\\}symbol: //p\" \"$TMPDIR/errors\""
								  " | sort -u; } >out/" WANTED;
/*
 * The later tools take time that grows with the square of the number of sections and of undefined symbols, so the
 * script limits both first. It dissolves section groups, since the linker would merge them with the task's groups by
 * name. Only the harness may run code before everything else, so the script removes .preinit_array and refuses
 * functions that choose another one (ifunc). objcopy makes a symbol of binding STB_GNU_UNIQUE local only if another
 * objcopy has made it weak. The script removes intermediate code (.gnu.lto_*), since the linker's plugin would take
 * the symbols from it, and .gnu.warning.*, whose text the linker would print.
 */
static const char set_apart[] =
	"set -e; export LC_ALL=C; object=$1 apart=$2 most_sections=$3 most_symbols=$4\n"
	"refuse() { echo \"error: The submission's object $1\" >&2; exit 1; }\n"
	"at_most() { [ \"$2\" -le \"$1\" ] || refuse \"has $2 $3; at most $1 are possible.\"; }\n"
	"readelf -hW \"$object\" >\"$TMPDIR/header\"\n"
	"at_most $most_sections \"$(sed -n 's/.*Number of section headers: *\\(0 (\\)\\{0,1\\}\\([0-9]*\\).*/\\2/p' "
	"\"$TMPDIR/header\")\" sections\n"
	"readelf -SW \"$object\" >\"$TMPDIR/sections\"\n"
	"for size in $(sed -n 's/.* SYMTAB  *[0-9a-f]* [0-9a-f]* \\([0-9a-f]*\\) 18 .*/\\1/p' \"$TMPDIR/sections\"); do\n"
	"at_most $most_symbols $((0x$size / 0x18)) symbols\n"
	"done\n"
	"ld -r -d --force-group-allocation \"$object\" -o \"$TMPDIR/whole.o\"\n"
	"objcopy --remove-section='.preinit_array*' --remove-section='.rela.preinit_array*' "
	"--remove-section='.gnu.lto_*' --remove-section='.rela.gnu.lto_*' --remove-section='.gnu.warning*' "
	"\"$TMPDIR/whole.o\" \"$TMPDIR/bare.o\"\n"
	"nm -P --special-syms \"$TMPDIR/bare.o\" >\"$TMPDIR/names\"\n"
	"! grep -q ' i [0-9a-f]' \"$TMPDIR/names\" || refuse 'has an indirect function (attribute ifunc or target_clones), "
	"which "
	"would run before the harness; choose the function when it is called instead.'\n"
	"{ echo '# objcopy takes no empty file'; sed -n 's/ u .*//p' \"$TMPDIR/names\"; } >\"$TMPDIR/unique\"\n"
	"objcopy \"--weaken-symbols=$TMPDIR/unique\" \"$TMPDIR/bare.o\" \"$TMPDIR/weak.o\"\n"
	"objcopy --keep-global-symbols=" WANTED " \"$TMPDIR/weak.o\" \"$apart\"";

static bool
is_set_apart(const struct kettle_compiled_builder *builder)
{
	const struct kettle_compiled_rules *rules = builder->rules;
	return rules->compile && rules->apart && rules->apart(builder) && json_array_size(builder->sources) > 1 &&
		   list_has_text(builder->sources, builder->request->submission);
}

/* Whether a flag may make the compiler write intermediate code. */
static bool
may_defer_code(const json_t *flags)
{
	json_array_each(flags, flag)
		if (strstr(json_string_value(flag), "lto"))
			return true;
	return false;
}

/* Makes the compiler write machine code for a submission that is set apart: intermediate code has no symbols yet. */
static void
add_apart_flags(const struct kettle_compiled_builder *builder, const char *source, json_t *argv)
{
	if (is_set_apart(builder) && strcmp(source, builder->request->submission) == 0 &&
		(may_defer_code(json_object_get(builder->config, "compile_flags")) ||
			may_defer_code(json_object_get(builder->options, "flags"))))
		kettle_args_add(argv, "-fno-lto");
}

/* Returns new arguments: sh -c SCRIPT sh ARGUMENTS. */
static json_t *
script_argv(const char *script, const json_t *arguments)
{
	json_t *argv = json_pack("[s, s, s, s]", "sh", "-c", script, "sh");
	json_array_extend(argv, (json_t *)arguments);
	return argv;
}

static json_t *
wanted_step(const struct kettle_compiled_builder *builder)
{
	AUTO_JSON json_t *others = json_array();
	struct kettle_compiled_builder task = *builder;
	json_t *needs = json_array(), *inputs = json_object();
	task.sources = others;
	json_array_each_at(builder->sources, i, source) {
		const char *name = json_string_value(source);
		if (strcmp(name, builder->request->submission) == 0)
			continue;
		AUTO_JSON json_t *object = json_sprintf("%s.o", name), *output = json_sprintf("%s.o", file_name_of(name));
		json_array_append(others, source);
		kettle_args_add(needs, "compile-%zu", i);
		json_object_set_new(
			inputs, json_string_value(object), output_of(json_sprintf("compile-%zu", i), json_string_value(output)));
	}
	AUTO_JSON json_t *link = builder->rules->link(&task);
	for (size_t k = 0; k < 2; k++) {
		kettle_args_add(link, "-Xlinker");
		kettle_args_add(link, k ? "--no-demangle" : "--warn-unresolved-symbols");
	}
	return json_pack("{s:s, s:s, s:s, s:o, s:o, s:o, s:[s], s:[O], s:b}", "id", WANTED, "kind", "build", "title",
		"find the task's undefined symbols", "needs", needs, "argv", script_argv(find_wanted, link), "inputs", inputs,
		"outputs", WANTED, "toolchain", json_array_get(link, 0), "cache", 1);
}

static json_t *
apart_step(const struct kettle_compiled_builder *builder)
{
	AUTO_JSON json_t *object = json_sprintf("%s.o", builder->request->submission);
	AUTO_JSON json_t *output = json_sprintf("%s.o", file_name_of(builder->request->submission));
	AUTO_JSON json_t *arguments = json_pack("[O, o, o, o]", object, json_sprintf("out/%s", json_string_value(output)),
		json_sprintf("%d", KETTLE_COMPILED_MAX_SECTIONS), json_sprintf("%d", KETTLE_COMPILED_MAX_SYMBOLS));
	size_t index = 0;
	while (strcmp(json_string_value(json_array_get(builder->sources, index)), builder->request->submission) != 0)
		index++;
	return json_pack("{s:s, s:s, s:s, s:[o, s], s:o, s:{s:o, s:o}, s:[O], s:b}", "id", "apart", "kind", "build",
		"title", "isolate the submission", "needs", json_sprintf("compile-%zu", index), WANTED, "argv",
		script_argv(set_apart, arguments), "inputs", json_string_value(object),
		output_of(json_sprintf("compile-%zu", index), json_string_value(output)), WANTED,
		output_of(json_string(WANTED), WANTED), "outputs", output, "cache", 1);
}

static json_t *
compile_step(const struct kettle_compiled_builder *builder, size_t index)
{
	const char *source = json_string_value(json_array_get(builder->sources, index));
	const char *base = file_name_of(source);
	json_t *argv = builder->rules->compile(builder, source);
	add_apart_flags(builder, source, argv);
	kettle_args_add(argv, "-c");
	kettle_args_add(argv, "%s", source);
	kettle_args_add(argv, "-o");
	kettle_args_add(argv, "out/%s.o", base);
	return json_pack("{s:o, s:s, s:o, s:o, s:o, s:[o], s:b}", "id", json_sprintf("compile-%zu", index), "kind", "build",
		"title", json_sprintf("compile %s", source), "argv", argv, "inputs", kettle_compiled_inputs(builder, source),
		"outputs", json_sprintf("%s.o", base), "cache", 1);
}

static json_t *
link_step(const struct kettle_compiled_builder *builder)
{
	bool objects = builder->rules->compile;
	json_t *needs = json_array(), *inputs = objects ? json_object() : kettle_compiled_inputs(builder, "");
	for (size_t i = 0; objects && i < json_array_size(builder->sources); i++) {
		const char *source = json_string_value(json_array_get(builder->sources, i));
		AUTO_JSON json_t *object = json_sprintf("%s.o", source), *output = json_sprintf("%s.o", file_name_of(source));
		bool apart = is_set_apart(builder) && strcmp(source, builder->request->submission) == 0;
		json_t *step = apart ? json_string("apart") : json_sprintf("compile-%zu", i);
		json_array_append(needs, step);
		json_object_set_new(inputs, json_string_value(object), output_of(step, json_string_value(output)));
	}
	return json_pack("{s:s, s:s, s:s, s:o, s:o, s:o, s:[s], s:b}", "id", "link", "kind", "build", "title",
		objects ? "link" : "compile", "needs", needs, "argv", builder->rules->link(builder), "inputs", inputs,
		"outputs", KETTLE_COMPILED_PROGRAM, "cache", 1);
}

void
kettle_compiled_need(json_t *step, const char *id)
{
	json_t *all = json_pack("[s]", id);
	json_array_extend(all, json_object_get(step, "needs"));
	json_object_set_new(step, "needs", all);
}

/* Completes a prepared run. Its inputs are the program and the task's data, not the sources. */
static json_t *
run_step(const struct kettle_compiled_builder *builder, const json_t *prepared, bool first)
{
	const struct kettle_compiled_rules *rules = builder->rules;
	json_t *step = json_deep_copy(prepared), *argv = json_array(), *inputs = json_object();
	json_object_each(builder->request->files, name, contents)
		if (!kettle_compiled_ends_in(name, rules->sources) && strcmp(name, builder->request->submission) != 0 &&
			!(rules->headers && kettle_compiled_ends_in(name, rules->headers)))
			json_object_set_new(inputs, name, json_pack("{s:s}", "file", name));
	json_object_set_new(
		inputs, KETTLE_COMPILED_PROGRAM, json_pack("{s:s, s:s}", "step", "link", "output", KETTLE_COMPILED_PROGRAM));
	kettle_args_add(argv, "./" KETTLE_COMPILED_PROGRAM);
	kettle_args_add_list(argv, "", json_object_get(json_object_get(prepared, "run"), "args"));
	json_object_set_new(step, "argv", argv);
	json_object_set_new(step, "inputs", inputs);
	if (first)
		kettle_compiled_need(step, "link");
	if (rules->profiler && kettle_compiled_profiles(builder)) {
		json_t *files = json_array();
		kettle_args_add_words(files, rules->profile_files);
		json_object_set_new(step, "profile", json_string(rules->profiler));
		json_object_set_new(step, "artifacts", files);
	}
	if (rules->finish_run)
		rules->finish_run(builder, step);
	return step;
}

/* ---- sources ---- */

/* Lists the endings, as in ".cpp, .cc, .cxx or .c". */
static struct kettle_sentence
listed_endings(const struct kettle_compiled_rules *rules)
{
	struct kettle_sentence list = {0};
	const char *const *endings = rules->sources;
	for (size_t i = 0; endings[i]; i++)
		kettle_sentence_add(&list, "%s%s", i == 0 ? "" : endings[i + 1] ? ", " : " or ", endings[i]);
	return list;
}

/* Adds a source after checking it. */
static int
take_source(struct kettle_compiled_builder *builder, const char *name, struct kettle_error *err)
{
	if (!json_object_get(builder->request->files, name))
		return kettle_fail(err, KETTLE_EINVAL,
			"The task's config lists `%.200s` in `sources`, but no entry of its `files` has that name.", name);
	if (!kettle_compiled_ends_in(name, builder->rules->sources))
		return kettle_fail(err, KETTLE_EINVAL,
			"The task's config lists `%.200s` in `sources`, but a source in %s ends in %s.", name,
			builder->rules->title, listed_endings(builder->rules).text);
	if (list_has_text(builder->sources, name))
		return kettle_fail(err, KETTLE_EINVAL, "The task's config lists `%.200s` twice in `sources`.", name);
	if (is_apart(builder, name))
		return kettle_fail(err, KETTLE_EINVAL,
			"The task's config lists the submission `%.200s` in `sources`, but with `rtc` it is compiled by itself.",
			name);
	json_array_append_new(builder->sources, json_string(name));
	return 0;
}

/* Finds the sources that the task lists or, without a list, all files with the ending of a source. */
static int
find_sources(struct kettle_compiled_builder *builder, struct kettle_error *err)
{
	const json_t *listed = json_object_get(builder->config, "sources");
	int rc = 0;
	json_array_each(listed, value)
		if (rc == 0)
			rc = take_source(builder, json_string_value(value), err);
	json_object_each(builder->request->files, name, value)
		if (rc == 0 && !listed && kettle_compiled_ends_in(name, builder->rules->sources) && !is_apart(builder, name))
			rc = take_source(builder, name, err);
	if (rc == 0 && json_array_size(builder->sources) == 0)
		rc = kettle_fail(err, KETTLE_EINVAL, "The task has nothing to compile: none of its files ends in %s.",
			listed_endings(builder->rules).text);
	if (rc == 0 && json_array_size(builder->sources) > KETTLE_COMPILED_MAX_SOURCES)
		rc = kettle_fail(err, KETTLE_EINVAL, "The task has %zu files to compile; at most %d are possible.",
			json_array_size(builder->sources), KETTLE_COMPILED_MAX_SOURCES);
	if (rc == 0 && json_object_get(builder->request->files, KETTLE_COMPILED_PROGRAM))
		rc = kettle_fail(err, KETTLE_EINVAL,
			"The task has a file `" KETTLE_COMPILED_PROGRAM "`, which is the name of the built program; rename it.");
	return rc;
}

/* ---- a header of the task that only the submission includes ---- */

/*
 * Finds the header that the submission includes before anything else, so that the compiler reads it as if it were
 * alone. Returns the length of its name; 0: none.
 */
static size_t
first_include(const struct kettle_compiled_builder *builder, const char **ret_name)
{
	static const char include[] = "#include \"";
	const char *line =
		json_text_or_empty(json_object_get(builder->request->files, builder->request->submission), "text");
	for (size_t len; *line; line += len + (line[len] == '\n')) {
		len = strcspn(line, "\n");
		bool comment = strncmp(line, "//", 2) == 0 && line[len - 1] != '\\';
		if (len == 0 || comment)
			continue;
		*ret_name = line + strlen(include);
		return strncmp(line, include, strlen(include)) == 0 ? strcspn(*ret_name, "\"\n") : 0;
	}
	return 0;
}

/* Whether a file of the task includes the header. */
static bool
task_includes(const struct kettle_compiled_builder *builder, const char *header)
{
	AUTO_JSON json_t *quoted = json_sprintf("\"%s\"", header);
	json_object_each(builder->request->files, name, contents)
		if (strcmp(name, builder->request->submission) != 0 &&
			strstr(json_text_or_empty(contents, "text"), json_string_value(quoted)))
			return true;
	return false;
}

/*
 * If only the submission includes a header of the task, adds a step that compiles this header alone: if that fails,
 * the header is at fault, not the submission, whose own step fails too. Adds the step's source to files.
 */
static void
add_header_step(struct kettle_compiled_builder *builder, json_t *files)
{
	const char *submission = builder->request->submission, *start = NULL, *dot = strrchr(submission, '.');
	size_t len = first_include(builder, &start);
	AUTO_JSON json_t *header = len ? json_stringn(start, len) : NULL;
	const char *name = json_string_value(header);
	if (!name || !dot || strchr(submission, '/') || !list_has_text(builder->sources, submission) ||
		!json_object_get(files, name) || list_has_text(builder->sources, name) || task_includes(builder, name))
		return;
	AUTO_JSON json_t *source = json_sprintf(".kettle-header%s", dot);
	if (json_object_get(files, json_string_value(source)))
		return;
	json_t *argv = builder->rules->compile(builder, json_string_value(source));
	json_t *inputs = kettle_compiled_inputs(builder, json_string_value(source));
	kettle_args_add(argv, "-c");
	kettle_args_add(argv, "%s", json_string_value(source));
	kettle_args_add(argv, "-o");
	kettle_args_add(argv, "out/header.o");
	json_object_set_new(inputs, json_string_value(source), json_pack("{s:O}", "file", source));
	json_object_set_new(
		files, json_string_value(source), json_pack("{s:o}", "text", json_sprintf("#include \"%s\"\n", name)));
	add_build_step(builder,
		json_pack("{s:s, s:s, s:o, s:o, s:o, s:[s], s:b}", "id", "header", "kind", "build", "title",
			json_sprintf("compile %s", name), "argv", argv, "inputs", inputs, "outputs", "header.o", "cache", 1));
}

/* ---- the plan ---- */

int
kettle_compiled_plan(void *self, const struct kettle_plan_request *request, json_t **ret_plan, struct kettle_error *err)
{
	const struct kettle_compiled *language = self;
	AUTO_JSON json_t *sources = json_array(), *steps = json_array(), *files = json_copy((json_t *)request->files);
	struct kettle_compiled_builder builder = {.request = request,
		.rules = language->rules,
		.options = language->options,
		.config = json_object_get(request->task, "config"),
		.sources = sources,
		.steps = steps};
	size_t i;
	json_t *prepared;
	int rc = find_sources(&builder, err);
	if (rc == 0 && builder.rules->begin)
		rc = builder.rules->begin(&builder, err);
	if (rc)
		return rc;
	for (i = 0; builder.rules->compile && i < json_array_size(sources); i++)
		add_build_step(&builder, compile_step(&builder, i));
	if (builder.rules->compile)
		add_header_step(&builder, files);
	if (is_set_apart(&builder)) {
		add_build_step(&builder, wanted_step(&builder));
		add_build_step(&builder, apart_step(&builder));
	}
	add_build_step(&builder, link_step(&builder));
	json_array_foreach(request->runs, i, prepared)
		json_array_append_new(steps, run_step(&builder, prepared, i == 0));
	*ret_plan = json_pack("{s:i, s:O, s:O}", "version", 1, "files", files, "steps", steps);
	return 0;
}

/* ---- probes ---- */

/*
 * Adds to `found` the headers that a text includes, whose names begin with one of `headers`, and that are no files of
 * the task.
 */
static void
add_includes(const char *text, const char *const *headers, const json_t *files, json_t *found)
{
	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += strspn(line, " \t\r\n");
		if (line[0] != '#')
			continue;
		const char *word = line + 1 + strspn(line + 1, " \t");
		if (strncmp(word, "include", strlen("include")) != 0)
			continue;
		word += strlen("include");
		word += strspn(word, " \t");
		AUTO_JSON json_t *named =
			json_stringn(word + 1, word[0] == '<' || word[0] == '"' ? strcspn(word + 1, ">\"\r\n") : 0);
		const char *name = json_string_value(named);
		for (const char *const *header = headers; header && *header; header++)
			if (strncmp(name, *header, strlen(*header)) == 0 && !json_object_get(files, name))
				json_object_set_new(found, name, json_true());
	}
}

/* Returns the new text of a program that includes these headers. */
static json_t *
probe_text(const json_t *headers)
{
	json_t *text = json_string("");
	json_object_each(headers, name, value) {
		AUTO_JSON json_t *before = text;
		text = json_sprintf("%s#include <%s>\n", json_string_value(before), name);
	}
	AUTO_JSON json_t *before = text;
	return json_sprintf("%sint main() { return 0; }\n", json_string_value(before));
}

int
kettle_compiled_probe(
	void *self, const struct kettle_plan_request *request, json_t **ret_plan, struct kettle_error *err)
{
	const struct kettle_compiled_rules *rules = ((const struct kettle_compiled *)self)->rules;
	const struct kettle_compiled_builder builder = {
		.request = request, .config = json_object_get(request->task, "config")};
	AUTO_JSON json_t *headers = json_object(), *task = json_copy((json_t *)request->task), *files = json_object();
	json_object_each(request->files, name, contents)
		add_includes(kettle_json_text(contents, "text"), rules->probe_headers, request->files, headers);
	if (!kettle_compiled_rtc(&builder) && json_array_size(json_object_get(builder.config, "libraries")) == 0 &&
		json_array_size(json_object_get(request->task, "libraries")) == 0 && json_object_size(headers) == 0)
		return kettle_fail(err, KETTLE_ENOENT, "The task needs no library and no header that a machine might lack.");
	AUTO_JSON json_t *source = json_sprintf("probe%s", rules->sources[0]);
	AUTO_JSON json_t *config = builder.config ? json_copy((json_t *)builder.config) : json_object();
	json_object_set_new(files, json_string_value(source), json_pack("{s:o}", "text", probe_text(headers)));
	if (kettle_compiled_rtc(&builder))
		json_object_set_new(
			files, request->submission, json_pack("{s:s}", "text", "extern \"C\" __global__ void kettle_probe() {}\n"));
	json_object_set_new(config, "sources", json_pack("[O]", source));
	json_object_set(task, "config", config);
	struct kettle_plan_request probe = *request;
	probe.task = task;
	probe.files = files;
	return kettle_compiled_plan(self, &probe, ret_plan, err);
}

/* ---- instances ---- */

int
kettle_compiled_create(const struct kettle_compiled_rules *rules, void **ret_self, struct kettle_error *err)
{
	struct kettle_compiled *language = calloc(1, sizeof(*language));
	if (!language)
		return kettle_fail(err, KETTLE_ENOMEM, "There is not enough memory for a language.");
	language->rules = rules;
	*ret_self = language;
	return 0;
}

int
kettle_compiled_configure(void *self, const json_t *options, struct kettle_error *err)
{
	struct kettle_compiled *language = self;
	(void)err;
	json_decref(language->options);
	language->options = json_deep_copy(options);
	return 0;
}

void
kettle_compiled_destroy(void *self)
{
	struct kettle_compiled *language = self;
	if (language)
		json_decref(language->options);
	free(language);
}

int
kettle_compiled_interpret(
	void *self, const json_t *step, const json_t *outcome, json_t **ret_result, struct kettle_error *err)
{
	(void)self;
	return kettle_explain_library(NULL, step, outcome, ret_result, err);
}

/* ---- boards of a single reference file ---- */

/* Checks the names that a reference must define; the compiler checks the rest. */
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

static void
add_file(json_t *listed, json_t *files, const char *name, json_t *text_take)
{
	json_array_append_new(listed, json_pack("{s:s, s:s}", "name", name, "source", name));
	json_object_set_new(files, name, json_pack("{s:o}", "text", text_take));
}

int
kettle_compiled_single(const struct kettle_compiled_single *single, const char *name, const char *text,
	json_t **ret_task, struct kettle_error *err)
{
	int rc = check_reference(name, text, err);
	if (rc)
		return rc;
	json_t *listed = json_array(), *files = json_object();
	for (size_t i = 0; i < single->harness_count; i++)
		add_file(listed, files, single->harness[i][0], json_string(single->harness[i][1]));
	/* The submission may include the reference too. The pragma is at the end, so that line numbers stay the same. */
	add_file(listed, files, single->reference, json_sprintf("%s\n#pragma once\n", text));
	json_array_append_new(listed, json_pack("{s:s, s:s}", "name", single->submission, "source", "@SUBMISSION@"));
	json_t *description = json_sprintf("Define `custom_kernel` as `%s` defines `ref_kernel`: the same input, the same "
									   "result, in less time%s. Ten fresh "
									   "inputs are checked, a hundred calls are timed.",
		single->reference, single->measured);
	json_t *starter =
		json_sprintf("#include \"%s\"\n\noutput_t\ncustom_kernel(input_t input)\n{\n\treturn ref_kernel(input);\n}\n",
			single->reference);
	json_t *task = json_pack("{s:s, s:o, s:o, s:{s:[s]}, s:{s:s}, s:[{s:i}], s:[{s:i}], s:s}", "lang", single->lang,
		"description", description, "files", listed, "config", "sources", single->harness[0][0], "templates",
		single->template_name, single->submission, "tests", "seed", 4242, "benchmarks", "seed", 93246, "ranking_by",
		"last");
	*ret_task = json_pack("{s:o, s:o, s:{s:{s:s, s:o}}, s:[s]}", "task", task, "files", files, "templates",
		single->template_name, "file_name", single->submission, "text", starter, "remarks",
		"In a task of a single file, the submission is compiled together with the harness and may replace its "
		"functions; to prevent that, make a task folder whose task.yml lists them as separate sources.");
	return 0;
}
