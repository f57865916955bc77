/* SPDX-License-Identifier: MIT */
/* What the tests of languages share: plans of tasks of small files, their steps, manual pages. */
#include <config.h>

#include "plugins/plans.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/schema.h"

#define TWO_RUNS \
	"[{\"id\": \"test\", \"kind\": \"run\", \"needs\": []," \
	" \"run\": {\"mode\": \"test\", \"secret\": false, \"args\": [\"test\", \"cases.txt\"]}}," \
	" {\"id\": \"benchmark\", \"kind\": \"run\", \"needs\": [\"test\"]," \
	" \"run\": {\"mode\": \"benchmark\", \"secret\": false, \"args\": [\"benchmark\", \"cases.txt\"]}}]"

void *plans_self;

void *
plans_instance(json_t *options_take)
{
	void *self = NULL;
	assert_int_equal(kettle_plugin.create(NULL, &self, NULL), 0);
	assert_int_equal(kettle_plugin.configure(self, options_take, NULL), 0);
	json_decref(options_take);
	return self;
}

int
plans_teardown(void **state)
{
	(void)state;
	kettle_plugin.destroy(plans_self);
	return 0;
}

int
plans_make(struct plans_given given, json_t **ret_plan, struct kettle_error *err)
{
	AUTO_JSON json_t *files = json_object(), *runs = json_loads(given.runs ? given.runs : TWO_RUNS, 0, NULL);
	AUTO_JSON json_t *unit = json_loads(given.device ? given.device : "{\"name\": \"CPU\"}", 0, NULL);
	AUTO_JSON json_t *task =
		json_pack("{s:o, s:[s]}", "config", json_loads(given.config ? given.config : "{}", 0, NULL), "libraries", "z");
	if (given.imported)
		json_object_set_new(task, "imported", json_loads(given.imported, 0, NULL));
	AUTO_FREE char *copy = strdup(given.names), *first = NULL;
	char *rest = NULL;
	for (char *name = strtok_r(copy, " ", &rest); name; name = strtok_r(NULL, " ", &rest)) {
		const char *text = first ? given.others : given.text;
		json_object_set_new(files, name, json_pack("{s:s}", "text", text ? text : name));
		first = first ? first : strdup(name);
	}
	const struct kettle_plan_request request = {.size = sizeof(request),
		.task = task,
		.files = files,
		.submission = first,
		.mode = given.mode ? given.mode : "test",
		.device = unit,
		.runs = runs};
	assert_true(unit && runs && task);
	return kettle_plugin.language->plan(plans_self, &request, ret_plan, err);
}

json_t *
plans_given_good(struct plans_given given)
{
	json_t *made = NULL;
	struct kettle_error err = {0};
	if (plans_make(given, &made, &err))
		fail_msg("%s", err.message);
	return made;
}

void
plans_profile(const char *name, const char *device, const char *profiler, const char *file, const char *flag)
{
	AUTO_JSON json_t *plain = plans_good(name, NULL, device);
	AUTO_JSON json_t *made = plans_given_good((struct plans_given){.mode = "profile", .names = name, .device = device});
	plans_expect(made, "test", "artifacts", file);
	const json_t *steps = json_object_get(made, "steps"), *before = json_object_get(plain, "steps");
	for (size_t i = 0; i < json_array_size(steps); i++) {
		const json_t *step = json_array_get(steps, i), *other = json_array_get(before, i);
		bool run = strcmp(json_string_value(json_object_get(step, "kind")), "run") == 0;
		const char *found = json_string_value(json_object_get(step, "profile"));
		assert_true(run ? found && strcmp(found, profiler) == 0 : !found);
		assert_null(json_object_get(other, "profile"));
	}
	AUTO_FREE char *argv = json_dumps(json_object_get(json_array_get(steps, 0), "argv"), JSON_COMPACT);
	assert_true(!flag || strstr(argv, flag));
}

json_t *
plans_good(const char *names, const char *config, const char *device)
{
	return plans_given_good((struct plans_given){.names = names, .config = config, .device = device});
}

void
plans_refused(const char *names, const char *config, const char *device, int code, const char *sentence)
{
	json_t *made = NULL;
	struct kettle_error err = {0};
	const struct plans_given given = {.names = names, .config = config, .device = device};
	assert_int_equal(plans_make(given, &made, &err), code);
	assert_null(made);
	assert_string_equal(err.message, sentence);
}

const json_t *
plans_step(const json_t *made, const char *id)
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
plans_expect(const json_t *made, const char *id, const char *key, const char *wanted)
{
	plans_expect_words(json_object_get(plans_step(made, id), key), wanted);
}

void
plans_expect_words(const json_t *words, const char *wanted)
{
	AUTO_BUF struct buf text = {0};
	json_t *value = (json_t *)words, *item;
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
plans_text(const json_t *made, const char *id, const char *object, const char *key)
{
	return json_string_value(json_object_get(json_object_get(plans_step(made, id), object), key));
}

const char *
plans_word(const json_t *made, const char *id, size_t index)
{
	return json_string_value(json_array_get(json_object_get(plans_step(made, id), "argv"), index));
}

void
plans_single(const char *lang, const char *name, const char *template_name)
{
	static const char text[] = "input_t output_t generate_input ref_kernel check_implementation";
	const struct kettle_language *language = kettle_plugin.language;
	AUTO_JSON json_t *made = NULL, *refused = NULL;
	struct kettle_error err = {0};
	assert_int_equal(language->single_file(plans_self, name, text, strlen(text), &made, &err), 0);
	const json_t *task = json_object_get(made, "task"), *files = json_object_get(made, "files");
	const json_t *sources = json_object_get(json_object_get(task, "config"), "sources");
	assert_string_equal(json_string_value(json_object_get(task, "lang")), lang);
	assert_string_equal(json_string_value(json_array_get(sources, 0)), "eval_single.cu");
	assert_int_equal(json_object_size(files) + 1, json_array_size(json_object_get(task, "files")));
	assert_non_null(strstr(json_string_value(json_object_get(json_object_get(files, "eval.cu"), "text")), "main("));
	assert_non_null(json_object_get(json_object_get(made, "templates"), template_name));
	assert_int_equal(language->single_file(plans_self, name, "input_t", 7, &refused, &err), KETTLE_EINVAL);
	assert_non_null(strstr(err.message, "`output_t`"));
}

void
plans_explained(
	const char *step_text, const json_t *outcome, const char *state, const char *blame, const char *sentence)
{
	AUTO_JSON json_t *one = json_loads(step_text, 0, NULL), *result = NULL;
	struct kettle_error err = {0};
	assert_non_null(one);
	assert_non_null(outcome);
	int rc = kettle_plugin.language->interpret(plans_self, one, outcome, &result, &err);
	if (!state) {
		assert_int_equal(rc, KETTLE_ENOENT);
		assert_null(result);
		return;
	}
	assert_int_equal(rc, 0);
	assert_string_equal(json_string_value(json_object_get(result, "message")), sentence);
	assert_string_equal(json_string_value(json_object_get(result, "state")), state);
	assert_string_equal(json_string_value(json_object_get(result, "blame")), blame);
	assert_true(json_is_false(json_object_get(result, "passed")));
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
plans_schema(const char *const *good, const char *const *bad)
{
	AUTO_JSON json_t *schema = NULL;
	struct kettle_error err = {0};
	if (schema_load(kettle_plugin.language->config_schema, &schema, &err))
		fail_msg("%s", err.message);
	for (int i = 0; i < 2; i++)
		for (const char *const *text = i ? good : bad; *text; text++) {
			AUTO_JSON json_t *config = json_loads(*text, 0, NULL);
			assert_non_null(config);
			assert_int_equal(schema_check(schema, config, NULL, NULL, &err) == 0, i);
		}
}

void
plans_table(const char *name, const char *comment, const char *page)
{
	const struct kettle_language *language = kettle_plugin.language;
	AUTO_FREE char *manual = read_manual(page);
	AUTO_JSON json_t *schema = json_loads(language->config_schema, 0, NULL);
	const char *key;
	json_t *value;
	assert_string_equal(kettle_plugin.name, name);
	assert_int_equal(kettle_plugin.magic, KETTLE_PLUGIN_MAGIC);
	assert_string_equal(language->comment, comment);
	assert_true(language->skeletons_count > 0 && language->harness_count > 0);
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
