/* SPDX-License-Identifier: MIT */
/* What the tests of cu and hip share: plans of tasks of empty files, and looks into them. */
#include <config.h>

#include "plugins/gpu_plans.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/file.h"

void *gpu_plans_self;

int
gpu_plans_setup(const char *compiler)
{
	AUTO_JSON json_t *options = json_pack("{s:s}", compiler, compiler);
	return kettle_plugin.create(NULL, &gpu_plans_self, NULL) || kettle_plugin.configure(gpu_plans_self, options, NULL);
}

int
gpu_plans_teardown(void **state)
{
	(void)state;
	kettle_plugin.destroy(gpu_plans_self);
	return 0;
}

static int
plan_in(const char *mode, const char *names, const char *config, const char *device, json_t **ret_plan,
	struct kettle_error *err)
{
	AUTO_JSON json_t *files = json_object(), *unit = json_loads(device, 0, NULL);
	AUTO_JSON json_t *task =
		json_pack("{s:o, s:[s]}", "config", config ? json_loads(config, 0, NULL) : json_object(), "libraries", "z");
	AUTO_JSON json_t *runs =
		json_pack("[{s:s, s:s, s:[], s:{s:s, s:b, s:[s, s]}}, {s:s, s:s, s:[s], s:{s:s, s:b, s:[s, s]}}]", "id", "test",
			"kind", "run", "needs", "run", "mode", "test", "secret", 0, "args", "test", "cases.txt", "id", "benchmark",
			"kind", "run", "needs", "test", "run", "mode", "benchmark", "secret", 0, "args", "benchmark", "cases.txt");
	AUTO_FREE char *copy = strdup(names), *first = NULL;
	char *rest = NULL;
	for (char *name = strtok_r(copy, " ", &rest); name; name = strtok_r(NULL, " ", &rest)) {
		first = first ? first : strdup(name);
		json_object_set_new(files, name, json_pack("{s:s}", "text", name));
	}
	const struct kettle_plan_request request = {.size = sizeof(request),
		.task = task,
		.files = files,
		.submission = first,
		.mode = mode,
		.device = unit,
		.runs = runs};
	assert_non_null(unit);
	assert_non_null(json_object_get(task, "config"));
	return kettle_plugin.language->plan(gpu_plans_self, &request, ret_plan, err);
}

static int
plan(const char *names, const char *config, const char *device, json_t **ret_plan, struct kettle_error *err)
{
	return plan_in("test", names, config, device, ret_plan, err);
}

void
gpu_plans_profile(const char *name, const char *device, const char *profiler, const char *file, const char *flag)
{
	AUTO_JSON json_t *made = NULL;
	AUTO_JSON json_t *plain = gpu_plans_good(name, NULL, device);
	struct kettle_error err = {0};
	if (plan_in("profile", name, NULL, device, &made, &err))
		fail_msg("%s", err.message);
	gpu_plans_expect(made, "test", "artifacts", file);
	const json_t *steps = json_object_get(made, "steps"), *before = json_object_get(plain, "steps");
	for (size_t i = 0; i < json_array_size(steps); i++) {
		const json_t *step = json_array_get(steps, i), *other = json_array_get(before, i);
		bool run = strcmp(json_string_value(json_object_get(step, "kind")), "run") == 0;
		const char *said = json_string_value(json_object_get(step, "profile"));
		assert_true(run ? said && strcmp(said, profiler) == 0 : !said);
		assert_null(json_object_get(other, "profile"));
	}
	AUTO_FREE char *argv = json_dumps(json_object_get(json_array_get(steps, 0), "argv"), JSON_COMPACT);
	assert_true(!flag || strstr(argv, flag));
}

json_t *
gpu_plans_good(const char *names, const char *config, const char *device)
{
	json_t *made = NULL;
	struct kettle_error err = {0};
	if (plan(names, config, device, &made, &err))
		fail_msg("%s", err.message);
	return made;
}

void
gpu_plans_refused(const char *names, const char *config, const char *device, int code, const char *sentence)
{
	json_t *made = NULL;
	struct kettle_error err = {0};
	assert_int_equal(plan(names, config, device, &made, &err), code);
	assert_null(made);
	assert_string_equal(err.message, sentence);
}

static const json_t *
step(const json_t *made, const char *id)
{
	size_t i;
	json_t *one;
	json_array_foreach(json_object_get(made, "steps"), i, one) {
		if (strcmp(json_string_value(json_object_get(one, "id")), id) == 0)
			return one;
	}
	fail_msg("no step %s", id);
	return NULL;
}

void
gpu_plans_expect(const json_t *made, const char *id, const char *key, const char *wanted)
{
	AUTO_BUF struct buf text = {0};
	json_t *value = json_object_get(step(made, id), key), *item;
	const char *name;
	size_t i;
	buf_adds(&text, "");
	json_array_foreach(value, i, item)
		buf_printf(&text, "%s%s", i ? " " : "", json_string_value(item));
	json_object_foreach(value, name, item)
		buf_printf(&text, "%s%s", text.len ? " " : "", name);
	assert_string_equal(text.data ? text.data : "", wanted);
}

const char *
gpu_plans_text(const json_t *made, const char *id, const char *object, const char *key)
{
	return json_string_value(json_object_get(json_object_get(step(made, id), object), key));
}

const char *
gpu_plans_word(const json_t *made, const char *id, size_t index)
{
	return json_string_value(json_array_get(json_object_get(step(made, id), "argv"), index));
}

void
gpu_plans_single(const char *lang, const char *name, const char *template_name)
{
	static const char text[] = "input_t output_t generate_input ref_kernel check_implementation";
	const struct kettle_language *language = kettle_plugin.language;
	AUTO_JSON json_t *made = NULL, *refused = NULL;
	struct kettle_error err = {0};
	assert_int_equal(language->single_file(gpu_plans_self, name, text, strlen(text), &made, &err), 0);
	const json_t *task = json_object_get(made, "task"), *files = json_object_get(made, "files");
	const json_t *sources = json_object_get(json_object_get(task, "config"), "sources");
	assert_string_equal(json_string_value(json_object_get(task, "lang")), lang);
	assert_string_equal(json_string_value(json_array_get(sources, 0)), "eval_single.cu");
	assert_int_equal(json_object_size(files) + 1, json_array_size(json_object_get(task, "files")));
	assert_non_null(strstr(json_string_value(json_object_get(json_object_get(files, "eval.cu"), "text")), "main("));
	assert_non_null(json_object_get(json_object_get(made, "templates"), template_name));
	assert_int_equal(language->single_file(gpu_plans_self, name, "input_t", 7, &refused, &err), KETTLE_EINVAL);
	assert_non_null(strstr(err.message, "`output_t`"));
}

void
gpu_plans_explained(
	const char *step_text, const json_t *outcome, const char *state, const char *blame, const char *sentence)
{
	AUTO_JSON json_t *one = json_loads(step_text, 0, NULL), *said = NULL;
	struct kettle_error err = {0};
	assert_non_null(one);
	assert_non_null(outcome);
	int rc = kettle_plugin.language->interpret(gpu_plans_self, one, outcome, &said, &err);
	if (!state) {
		assert_int_equal(rc, KETTLE_ENOENT);
		assert_null(said);
		return;
	}
	assert_int_equal(rc, 0);
	assert_string_equal(json_string_value(json_object_get(said, "message")), sentence);
	assert_string_equal(json_string_value(json_object_get(said, "state")), state);
	assert_string_equal(json_string_value(json_object_get(said, "blame")), blame);
	assert_true(json_is_false(json_object_get(said, "passed")));
}

/* The manual page as plain text: no backslashes. */
static char *
read_manual(const char *page)
{
	AUTO_BUF struct buf path = {0};
	char *text = NULL, *to;
	size_t size = 0;
	buf_printf(&path, "%s/%s", getenv("top_srcdir"), page);
	assert_int_equal(file_read(path.data, 1 << 20, &text, &size, NULL), 0);
	to = text;
	for (const char *from = text; *from; from++)
		if (*from != '\\')
			*to++ = *from;
	*to = '\0';
	return text;
}

void
gpu_plans_table(const char *name, const char *page)
{
	const struct kettle_language *language = kettle_plugin.language;
	AUTO_FREE char *manual = read_manual(page);
	AUTO_JSON json_t *schema = json_loads(language->config_schema, 0, NULL);
	const char *key;
	json_t *value;
	assert_string_equal(kettle_plugin.name, name);
	assert_string_equal(language->comment, "//");
	assert_true(language->skeletons_count > 0);
	assert_non_null(schema);
	kettle_plugin.destroy(NULL);
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
