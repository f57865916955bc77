/* SPDX-License-Identifier: MIT */
/* Fuzzes task.yml: what loads can be bundled, checked again with the same result, and planned in every mode. */
#include <config.h>

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/utf8.h"
#include "lib/languages.h"
#include "task/task.h"
#include "task/task_yml.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check_error(const struct kettle_error *err)
{
	if (!err->message[0] || !utf8_valid(err->message, strlen(err->message)) || err->code == KETTLE_EINTERNAL)
		abort();
}

/* A bundle with some contents for every file that the task names. */
static json_t *
make_bundle(const json_t *task, const char *yml, size_t size)
{
	json_t *files = json_object(), *templates = json_object(), *value;
	const char *key;
	size_t i;
	json_array_foreach(json_object_get(task, "files"), i, value)
		json_object_set_new(files, json_string_value(json_object_get(value, "name")), json_pack("{s:s}", "text", "x"));
	json_object_foreach(json_object_get(task, "templates"), key, value)
		json_object_set_new(templates, key, json_pack("{s:s, s:s}", "file_name", "t", "text", "x"));
	return json_pack("{s:s, s:s%, s:o, s:o}", "name", "fuzz", "yml", yml, size, "files", files, "templates", templates);
}

static void
plan_all(const struct languages *known, const json_t *bundle)
{
	static const char *const modes[] = {"test", "benchmark", "profile", "ranked"};
	AUTO_JSON json_t *device = json_pack("{s:s}", "name", "CPU");
	for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
		AUTO_PLAN struct plan *plan = NULL;
		struct kettle_error err = {0};
		if (plan_make(known, bundle, "x", modes[i], device, "7", NULL, &plan, &err))
			check_error(&err);
	}
}

static void
check_bundle(const struct languages *known, const json_t *bundle)
{
	AUTO_JSON json_t *first = NULL, *second = NULL;
	struct kettle_error err = {0};
	if (task_check_bundle(known, bundle, &first, &err)) {
		check_error(&err);
		return;
	}
	if (task_check_bundle(known, first, &second, &err) || !json_equal(first, second))
		abort();
	plan_all(known, first);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct languages *known = languages_new();
	AUTO_TASK_YML struct task_yml yml = {0};
	struct kettle_error err = {0};
	if (task_yml_parse(known, "fuzz/task.yml", (const char *)data, size, &yml, &err)) {
		check_error(&err);
	} else if (utf8_valid((const char *)data, size)) {
		AUTO_JSON json_t *bundle = make_bundle(yml.task, (const char *)data, size);
		check_bundle(known, bundle);
	}
	languages_free(known);
	return 0;
}
