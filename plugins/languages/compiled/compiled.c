/* SPDX-License-Identifier: MIT */
/* What languages of compiled sources have in common: sources, objects, one program, its runs. */
#include <config.h>

#include "compiled.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

bool
compiled_ends_in(const char *name, const char *const *endings)
{
	const char *dot = strrchr(name, '.');
	for (; dot && *endings; endings++)
		if (strcasecmp(dot, *endings) == 0)
			return true;
	return false;
}

bool
compiled_list_has(const json_t *list, const char *word)
{
	size_t i;
	json_t *item;
	json_array_foreach(list, i, item)
		if (strcmp(json_string_value(item), word) == 0)
			return true;
	return false;
}

const char *
compiled_base(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

bool
compiled_rtc(const struct compiled_making *making)
{
	return json_is_true(json_object_get(making->config, "rtc"));
}

bool
compiled_profiles(const struct compiled_making *making)
{
	return strcmp(making->request->mode, "profile") == 0;
}

const char *
compiled_option(const struct compiled_making *making, const char *key)
{
	return json_string_value(json_object_get(making->options, key));
}

int
compiled_fail_memory(struct kettle_error *err)
{
	return kettle_fail(err, KETTLE_ENOMEM, "There is not enough memory to plan the job.");
}

/* ---- arguments ---- */

void
compiled_add(json_t **list, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	if (*list && json_array_append_new(*list, json_vsprintf(format, args))) {
		json_decref(*list);
		*list = NULL;
	}
	va_end(args);
}

void
compiled_add_all(json_t **list, const char *prefix, const json_t *words)
{
	size_t i;
	json_t *word;
	json_array_foreach(words, i, word)
		compiled_add(list, "%s%s", prefix, json_string_value(word));
}

void
compiled_add_defines(const struct compiled_making *making, json_t **argv)
{
	const char *key;
	json_t *value;
	json_object_foreach(json_object_get(making->config, "defines"), key, value)
		if (json_is_string(value))
			compiled_add(argv, "-D%s=%s", key, json_string_value(value));
		else if (json_is_null(value))
			compiled_add(argv, "-D%s", key);
		else
			compiled_add(argv, "-D%s=%" JSON_INTEGER_FORMAT, key,
				json_is_integer(value) ? json_integer_value(value) : json_is_true(value));
}

void
compiled_add_config(const struct compiled_making *making, json_t **argv)
{
	compiled_add_defines(making, argv);
	compiled_add_all(argv, "-I", json_object_get(making->config, "include_dirs"));
	compiled_add_all(argv, "", json_object_get(making->config, "compile_flags"));
}

void
compiled_add_objects(const struct compiled_making *making, json_t **argv)
{
	size_t i;
	json_t *source;
	json_array_foreach(making->sources, i, source)
		compiled_add(argv, "%s.o", json_string_value(source));
}

void
compiled_add_libraries(const struct compiled_making *making, json_t **argv)
{
	compiled_add_all(argv, "-l", json_object_get(making->config, "libraries"));
	compiled_add_all(argv, "-l", json_object_get(making->request->task, "libraries"));
}

/* ---- steps ---- */

/* Whether the file is a submission that has a step of its own. */
static bool
is_apart(const struct compiled_making *making, const char *name)
{
	return compiled_rtc(making) && strcmp(name, making->request->submission) == 0;
}

json_t *
compiled_inputs(const struct compiled_making *making, const char *source)
{
	json_t *inputs = json_object();
	const char *name;
	json_t *contents;
	json_object_foreach((json_t *)making->request->files, name, contents)
		if (strcmp(name, source) == 0 || (!compiled_list_has(making->sources, name) && !is_apart(making, name)))
			json_object_set_new(inputs, name, json_pack("{s:s}", "file", name));
	return inputs;
}

static json_t *
finished(const struct compiled_making *making, json_t *step_take)
{
	if (step_take && making->rules->finish_step)
		making->rules->finish_step(making, step_take);
	return step_take;
}

static json_t *
compile_step(const struct compiled_making *making, size_t index)
{
	const char *source = json_string_value(json_array_get(making->sources, index));
	const char *base = compiled_base(source);
	json_t *argv = making->rules->compile(making, source);
	compiled_add(&argv, "-c");
	compiled_add(&argv, "%s", source);
	compiled_add(&argv, "-o");
	compiled_add(&argv, "out/%s.o", base);
	return finished(making, json_pack("{s:o, s:s, s:o, s:o, s:o, s:[o], s:b}", "id", json_sprintf("compile-%zu", index),
								"kind", "build", "title", json_sprintf("compile %s", source), "argv", argv, "inputs",
								compiled_inputs(making, source), "outputs", json_sprintf("%s.o", base), "cache", 1));
}

static json_t *
link_step(const struct compiled_making *making)
{
	json_t *needs = json_array(), *inputs = json_object();
	for (size_t i = 0; i < json_array_size(making->sources); i++) {
		const char *source = json_string_value(json_array_get(making->sources, i));
		json_t *object = json_sprintf("%s.o", source);
		compiled_add(&needs, "compile-%zu", i);
		json_object_set_new(inputs, json_string_value(object),
			json_pack("{s:o, s:o}", "step", json_sprintf("compile-%zu", i), "output",
				json_sprintf("%s.o", compiled_base(source))));
		json_decref(object);
	}
	return finished(making,
		json_pack("{s:s, s:s, s:s, s:o, s:o, s:o, s:[s], s:b}", "id", "link", "kind", "build", "title", "link", "needs",
			needs, "argv", making->rules->link(making), "inputs", inputs, "outputs", COMPILED_PROGRAM, "cache", 1));
}

void
compiled_need(json_t *step, const json_t *needs)
{
	json_t *all = json_copy((json_t *)needs);
	json_array_extend(all, json_object_get(step, "needs"));
	json_object_set_new(step, "needs", all);
}

static void
add_profiler(const struct compiled_rules *rules, json_t *step)
{
	json_t *files = json_array();
	for (const char *const *file = rules->profile_files; file && *file; file++)
		compiled_add(&files, "%s", *file);
	json_object_set_new(step, "profile", json_string(rules->profiler));
	json_object_set_new(step, "artifacts", files);
}

/* Completes one prepared run. It sees the program and the task's data, not the code. */
static json_t *
run_step(const struct compiled_making *making, const json_t *prepared, bool first)
{
	const struct compiled_rules *rules = making->rules;
	json_t *step = json_deep_copy(prepared), *argv = json_array(), *inputs = json_object();
	const char *name;
	json_t *contents;
	json_object_foreach((json_t *)making->request->files, name, contents)
		if (!compiled_ends_in(name, rules->sources) && !compiled_ends_in(name, rules->headers) &&
			strcmp(name, making->request->submission) != 0)
			json_object_set_new(inputs, name, json_pack("{s:s}", "file", name));
	json_object_set_new(inputs, COMPILED_PROGRAM, json_pack("{s:s, s:s}", "step", "link", "output", COMPILED_PROGRAM));
	compiled_add(&argv, "./" COMPILED_PROGRAM);
	compiled_add_all(&argv, "", json_object_get(json_object_get(prepared, "run"), "args"));
	json_object_set_new(step, "argv", argv);
	json_object_set_new(step, "inputs", inputs);
	if (first) {
		json_t *needs = json_pack("[s]", "link");
		compiled_need(step, needs);
		json_decref(needs);
	}
	if (step && rules->profiler && compiled_profiles(making))
		add_profiler(rules, step);
	if (step && rules->finish_run)
		rules->finish_run(making, step);
	return step;
}

/* ---- sources ---- */

/* One entry of the task's `sources`. */
static int
take_source(struct compiled_making *making, const char *name, struct kettle_error *err)
{
	if (!json_object_get(making->request->files, name))
		return kettle_fail(err, KETTLE_EINVAL,
			"The task's config lists `%.200s` in `sources`, but no entry of its `files` has that name.", name);
	if (!compiled_ends_in(name, making->rules->sources))
		return kettle_fail(
			err, KETTLE_EINVAL, "The task's config lists `%.200s` in `sources`, but %s.", name, making->rules->wanted);
	if (compiled_list_has(making->sources, name))
		return kettle_fail(err, KETTLE_EINVAL, "The task's config lists `%.200s` twice in `sources`.", name);
	if (is_apart(making, name))
		return kettle_fail(err, KETTLE_EINVAL,
			"The task's config lists the submission `%.200s` in `sources`, but with `rtc` it is compiled by itself.",
			name);
	return json_array_append_new(making->sources, json_string(name)) ? compiled_fail_memory(err) : 0;
}

/* The sources that the task lists, or every file that is one. */
static int
find_sources(struct compiled_making *making, struct kettle_error *err)
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
		if (rc == 0 && !listed && compiled_ends_in(name, making->rules->sources) && !is_apart(making, name))
			rc = take_source(making, name, err);
	if (rc == 0 && json_array_size(making->sources) == 0)
		rc = kettle_fail(err, KETTLE_EINVAL, "The task has nothing to compile: %s.", making->rules->found);
	if (rc == 0 && json_array_size(making->sources) > COMPILED_MAX_SOURCES)
		rc = kettle_fail(err, KETTLE_EINVAL, "The task has %zu files to compile; at most %d are possible.",
			json_array_size(making->sources), COMPILED_MAX_SOURCES);
	if (rc == 0 && json_object_get(making->request->files, COMPILED_PROGRAM))
		rc = kettle_fail(err, KETTLE_EINVAL,
			"The task has a file `" COMPILED_PROGRAM
			"`, which is the name that the built program gets; name it otherwise.");
	return rc;
}

/* ---- the plan ---- */

static int
add_steps(struct compiled_making *making, struct kettle_error *err)
{
	size_t i;
	json_t *prepared;
	int failed = 0;
	for (i = 0; i < json_array_size(making->sources); i++)
		failed |= json_array_append_new(making->steps, compile_step(making, i));
	failed |= json_array_append_new(making->steps, link_step(making));
	json_array_foreach(making->request->runs, i, prepared)
		failed |= json_array_append_new(making->steps, run_step(making, prepared, i == 0));
	return failed ? compiled_fail_memory(err) : 0;
}

int
compiled_plan(struct compiled_making *making, json_t **ret_plan, struct kettle_error *err)
{
	making->config = json_object_get(making->request->task, "config");
	making->sources = json_array();
	making->steps = json_array();
	int rc = find_sources(making, err);
	if (rc == 0 && making->rules->add_steps)
		rc = making->rules->add_steps(making, err);
	if (rc == 0)
		rc = add_steps(making, err);
	if (rc == 0) {
		json_t *plan =
			json_pack("{s:i, s:O, s:O}", "version", 1, "files", making->request->files, "steps", making->steps);
		if (plan)
			*ret_plan = plan;
		else
			rc = compiled_fail_memory(err);
	}
	json_decref(making->sources);
	json_decref(making->steps);
	return rc;
}

/* ---- probes ---- */

/* Appends those that a text includes of headers that begin so, and that are no files of the task. */
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
		size_t len = word[0] == '<' || word[0] == '"' ? strcspn(word + 1, ">\"\r\n") : 0;
		char *name = len ? strndup(word + 1, len) : NULL;
		for (const char *const *header = headers; name && *header; header++)
			if (strncmp(name, *header, strlen(*header)) == 0 && !json_object_get(files, name))
				json_object_set_new(found, name, json_true());
		free(name);
	}
}

/* The text of a program that needs what the task needs, or NULL: it needs nothing. New. */
static json_t *
probe_text(const struct kettle_plan_request *request, const char *const *headers, bool needs)
{
	json_t *found = json_object(), *contents, *text = json_string("");
	const char *name;
	json_object_foreach((json_t *)request->files, name, contents)
		if (json_object_get(contents, "text"))
			add_includes(json_string_value(json_object_get(contents, "text")), headers, request->files, found);
	needs = needs || json_object_size(found) > 0;
	json_object_foreach(found, name, contents) {
		json_t *longer = json_sprintf("%s#include <%s>\n", json_string_value(text), name);
		json_decref(text);
		text = longer;
	}
	json_t *program = needs ? json_sprintf("%sint main() { return 0; }\n", json_string_value(text)) : NULL;
	json_decref(text);
	json_decref(found);
	return program;
}

int
compiled_probe(void *self, const struct kettle_plan_request *request, const struct compiled_rules *rules,
	const char *const *headers,
	int (*plan)(void *self, const struct kettle_plan_request *request, json_t **ret_plan, struct kettle_error *err),
	json_t **ret_plan, struct kettle_error *err)
{
	struct kettle_plan_request probe = *request;
	struct compiled_making making = {.request = request, .config = json_object_get(request->task, "config")};
	bool needs = compiled_rtc(&making) || json_array_size(json_object_get(making.config, "libraries")) > 0 ||
				 json_array_size(json_object_get(request->task, "libraries")) > 0;
	json_t *text = probe_text(request, headers, needs);
	if (!text)
		return kettle_fail(err, KETTLE_ENOENT, "The task needs no library and no header that a machine might lack.");
	json_t *name = json_sprintf("probe%s", rules->sources[0]);
	json_t *config = making.config ? json_copy((json_t *)making.config) : json_object();
	json_t *task = json_copy((json_t *)request->task), *files = json_object();
	json_object_set_new(files, json_string_value(name), json_pack("{s:o}", "text", text));
	if (compiled_rtc(&making))
		json_object_set_new(
			files, request->submission, json_pack("{s:s}", "text", "extern \"C\" __global__ void kettle_probe() {}\n"));
	json_object_set_new(config, "sources", json_pack("[O]", name));
	json_object_set(task, "config", config);
	probe.task = task;
	probe.files = files;
	int rc = plan(self, &probe, ret_plan, err);
	json_decref(name);
	json_decref(config);
	json_decref(task);
	json_decref(files);
	return rc;
}

/* ---- single reference files ---- */

int
compiled_check_reference(const char *name, const char *text, struct kettle_error *err)
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

/* ---- instances ---- */

int
compiled_create(const struct kettle_host *host, void **ret_self, struct kettle_error *err)
{
	(void)host;
	struct compiled_self *made = calloc(1, sizeof(*made));
	if (!made)
		return compiled_fail_memory(err);
	*ret_self = made;
	return 0;
}

int
compiled_configure(void *self, const json_t *section, struct kettle_error *err)
{
	struct compiled_self *made = self;
	json_t *copy = json_deep_copy(section);
	if (!copy)
		return compiled_fail_memory(err);
	json_decref(made->options);
	made->options = copy;
	return 0;
}

void
compiled_destroy(void *self)
{
	struct compiled_self *made = self;
	if (made)
		json_decref(made->options);
	free(made);
}
