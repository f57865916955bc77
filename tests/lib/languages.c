/* SPDX-License-Identifier: MIT */
/* Languages for tests: the real cpp, and stand-ins that take KernelBot's py and cu tasks. */
#include <config.h>

#include "lib/languages.h"

#include <kettle/plugin.h>
#include <stdlib.h>

struct py_hooks py_hooks;
struct languages *languages;

/* Every run starts the harness by an interpreter and sees every file. */
static json_t *
plan_runs(const struct kettle_plan_request *request)
{
	json_t *steps = json_array(), *prepared;
	size_t i;
	json_array_foreach((json_t *)request->runs, i, prepared) {
		json_t *step = json_deep_copy(prepared), *inputs = json_object(), *contents;
		const char *name;
		const char *main = json_string_value(json_object_get(json_object_get(request->task, "config"), "main"));
		json_t *argv = json_pack("[s, s]", "python3", main ? main : "eval");
		json_object_foreach((json_t *)request->files, name, contents)
			json_object_set_new(inputs, name, json_pack("{s:s}", "file", name));
		json_array_extend(argv, json_object_get(json_object_get(prepared, "run"), "args"));
		json_object_set_new(step, "argv", argv);
		json_object_set_new(step, "inputs", inputs);
		json_array_append_new(steps, step);
	}
	return steps;
}

static int
plan(void *self, const struct kettle_plan_request *request, json_t **ret_plan, struct kettle_error *err)
{
	(void)self, (void)err;
	*ret_plan = json_pack("{s:i, s:O, s:o}", "version", 1, "files", request->files, "steps", plan_runs(request));
	return py_hooks.plan ? py_hooks.plan(request, *ret_plan) : 0;
}

static int
interpret(void *self, const json_t *step, const json_t *outcome, json_t **ret_verdict, struct kettle_error *err)
{
	(void)self;
	*ret_verdict = py_hooks.interpret ? py_hooks.interpret(step, outcome) : NULL;
	return *ret_verdict ? 0 : kettle_fail(err, KETTLE_EUNAVAIL, "Nothing to add.");
}

/* Its harness is one file, and needs a reference.py. */
static int
adopt(void *self, const json_t *task, const json_t *files, json_t **ret_files, struct kettle_error *err)
{
	(void)self, (void)task;
	if (!json_object_get(files, "reference.py"))
		return kettle_fail(err, KETTLE_EINVAL, "there is no reference.py.");
	*ret_files = json_pack("{s:{s:s}}", "harness/eval.py", "text", "Kettle's");
	return 0;
}

static const char *const py_aliases[] = {"python", NULL};
static const char *const py_extensions[] = {".py", NULL};
static const struct kettle_language py = {
	.size = sizeof(struct kettle_language),
	.aliases = py_aliases,
	.extensions = py_extensions,
	.comment = "#",
	.config_schema =
		"{\"type\": \"object\", \"required\": [\"main\"], \"additionalProperties\": false, \"properties\": {"
		"\"main\": {\"type\": \"string\"}, \"checks\": {\"type\": \"boolean\", \"default\": true}}}",
	.plan = plan,
	.interpret = interpret,
	.adopt = adopt,
};
static const struct kettle_language cu = {
	.size = sizeof(struct kettle_language),
	.comment = "//",
	.config_schema = "{\"type\": \"object\"}",
	.plan = plan,
};

struct languages *
languages_new(void)
{
	struct languages *made = calloc(1, sizeof(*made));
	struct language *items = calloc(3, sizeof(*items));
	json_t *options = json_pack("{s:s, s:s, s:s}", "cxx", "g++", "cc", "gcc", "march", "native");
	if (!made || !items || !options)
		abort();
	items[0] = (struct language){.name = "cpp", .ops = kettle_plugin.language};
	items[1] = (struct language){.name = "cu", .ops = &cu};
	items[2] = (struct language){.name = "py", .ops = &py};
	if (kettle_plugin.create(NULL, &items[0].self, NULL) || kettle_plugin.configure(items[0].self, options, NULL))
		abort();
	json_decref(options);
	made->items = items;
	made->count = 3;
	return made;
}

void
languages_free(struct languages *made)
{
	kettle_plugin.destroy(made->items[0].self);
	free(made->items);
	free(made);
}

int
languages_setup(void **state)
{
	(void)state;
	languages = languages_new();
	return 0;
}

int
languages_teardown(void **state)
{
	(void)state;
	languages_free(languages);
	return 0;
}
