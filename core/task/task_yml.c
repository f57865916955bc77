/* SPDX-License-Identifier: MIT */
/* Checks a task.yml: first its form by the schema, then the rules that a schema cannot express. */
#include <config.h>

#include "task/task_yml.h"

#include "base/base.h"
#include "base/embedded_text.h"
#include "base/file.h"
#include "base/json_text.h"
#include "base/schema.h"
#include "base/utf8.h"
#include "base/yaml.h"
#include "judge/limit.h"

/* State that the checks share. */
struct check {
	const struct languages *languages;
	const char *name;
	struct task_yml *yml;
	struct kettle_error *err;
};

/* The fault in check->err was found at the formatted pointer. */
__attribute__((format(printf, 2, 3))) static int
fail_yml_at(const struct check *check, const char *format, ...)
{
	char pointer[256];
	va_list args;
	va_start(args, format);
	(void)vsnprintf(pointer, sizeof(pointer), format, args);
	va_end(args);
	return yaml_fail_at(check->name, check->yml->places, pointer, check->err);
}

/* ---- sources ---- */

/* Appends one part of a path, or takes one away for "..". */
static void
add_yml_part(struct buf *path, unsigned *up, const char *part, size_t len)
{
	if (len == 0 || (len == 1 && part[0] == '.'))
		return;
	if (!(len == 2 && part[0] == '.' && part[1] == '.')) {
		if (path->len)
			buf_adds(path, "/");
		buf_add(path, part, len);
		return;
	}
	if (path->len == 0) {
		++*up;
		return;
	}
	char *slash = strrchr(path->data, '/');
	path->len = slash ? (size_t)(slash - path->data) : 0;
	path->data[path->len] = '\0';
}

int
task_yml_source(const char *source, unsigned *ret_up, char **ret_path, struct kettle_error *err)
{
	AUTO_BUF struct buf clean = {0}, path = {0};
	unsigned up = 0;
	if (utf8_sanitize(source, strlen(source), &clean) || strpbrk(source, "\n\t"))
		return kettle_fail(err, KETTLE_EINVAL, "the path of a source contains control characters.");
	uint32_t invisible = utf8_find_invisible(source, strlen(source));
	if (invisible)
		return kettle_fail(err, KETTLE_EINVAL,
			"the path of a source contains the invisible character U+%04X; rename the file.", invisible);
	if (source[0] == '/')
		return kettle_fail(
			err, KETTLE_EINVAL, "the source `%s` is absolute; it must be relative to the task's folder.", source);
	for (const char *part = source; *part; part += *part == '/') {
		size_t len = strcspn(part, "/");
		add_yml_part(&path, &up, part, len);
		part += len;
	}
	if (path.len == 0)
		return kettle_fail(err, KETTLE_EINVAL, "the source `%s` is a folder; it must be a file.", source);
	if (up > TASK_MAX_UP)
		return kettle_fail(err, KETTLE_EINVAL,
			"the source `%s` leaves the task's folder by %u levels; it may by at most %d.", source, up, TASK_MAX_UP);
	*ret_up = up;
	*ret_path = buf_take(&path);
	return 0;
}

static int
check_source(const char *source, struct kettle_error *err)
{
	unsigned up = 0;
	AUTO_FREE char *path = NULL;
	return task_yml_source(source, &up, &path, err);
}

/* ---- files ---- */

static bool
covers(const char *a, const char *b)
{
	size_t len = strlen(a);
	return strncmp(a, b, len) == 0 && (b[len] == '\0' || b[len] == '/');
}

static int
check_other_names(const struct check *check, const json_t *files, size_t index, const char *name)
{
	for (size_t i = 0; i < index; i++) {
		const char *other = json_text_or_null(json_array_get(files, i), "name");
		if (strcmp(other, name) == 0)
			return kettle_fail(check->err, KETTLE_EINVAL,
				"the name `%s` occurs twice in `files`; every file needs a name of its own.", name);
		if (covers(other, name) || covers(name, other))
			return kettle_fail(
				check->err, KETTLE_EINVAL, "`%s` and `%s` in `files` cannot be both a file and a folder.", other, name);
	}
	return 0;
}

static int
check_yml_file(const struct check *check, const json_t *files, size_t index)
{
	const json_t *file = json_array_get(files, index);
	const char *name = json_text_or_null(file, "name");
	const char *source = json_text_or_null(file, "source");
	int rc = path_check_inside(name, check->err);
	if (rc == 0 && covers("out", name))
		rc = kettle_fail(check->err, KETTLE_EINVAL,
			"the name `%s` is taken: `out` is the folder that a step writes to; choose another one.", name);
	if (rc == 0)
		rc = check_other_names(check, files, index, name);
	if (rc)
		return fail_yml_at(check, "/files/%zu/name", index);
	if (strcmp(source, TASK_SUBMISSION) == 0) {
		if (check->yml->submission)
			rc = kettle_fail(check->err, KETTLE_EINVAL,
				"both `%s` and `%s` have the source " TASK_SUBMISSION "; a submission is one file.",
				check->yml->submission, name);
		check->yml->submission = name;
	} else {
		rc = check_source(source, check->err);
	}
	return rc ? fail_yml_at(check, "/files/%zu/source", index) : 0;
}

static int
check_yml_files(const struct check *check)
{
	const json_t *files = json_object_get(check->yml->task, "files");
	for (size_t i = 0; i < json_array_size(files); i++) {
		int rc = check_yml_file(check, files, i);
		if (rc)
			return rc;
	}
	if (check->yml->submission)
		return 0;
	kettle_fail(check->err, KETTLE_EINVAL,
		"no entry of `files` has the source " TASK_SUBMISSION "; one entry must have it, for the submitted file.");
	return fail_yml_at(check, "/files");
}

static int
check_templates(const struct check *check)
{
	json_object_each(json_object_get(check->yml->task, "templates"), language, source) {
		if (check_source(json_string_value(source), check->err))
			return fail_yml_at(check, "/templates/%s", language);
	}
	return 0;
}

/* ---- several devices ---- */

static int
check_world(const struct check *check, const char *list)
{
	const json_t *cases = json_object_get(check->yml->task, list);
	for (size_t i = 0; i < json_array_size(cases); i++) {
		const json_t *world = json_object_get(json_array_get(cases, i), "world_size");
		json_int_t size = json_integer_value(world);
		if (json_is_integer(world) && size >= 1 && size <= TASK_MAX_WORLD)
			continue;
		kettle_fail(check->err, KETTLE_EINVAL,
			"%s[%zu] needs a `world_size` from 1 to %d, because the task says `multi_gpu: true`.", list, i,
			TASK_MAX_WORLD);
		return fail_yml_at(check, world ? "/%s/%zu/world_size" : "/%s/%zu", list, i);
	}
	return 0;
}

static int
check_worlds(const struct check *check)
{
	if (!member_true(check->yml->task, "multi_gpu"))
		return 0;
	int rc = check_world(check, "tests");
	return rc ? rc : check_world(check, "benchmarks");
}

/* ---- work ---- */

static int
check_work(const struct check *check)
{
	const char *key = "";
	int rc = limit_check(check->yml->task, &key, check->err);
	return rc ? fail_yml_at(check, "/work/%s", key) : 0;
}

/* ---- the language ---- */

static int
find_yml_language(const struct check *check)
{
	const char *name = json_text_or_null(check->yml->task, "lang");
	const struct language *language = language_find(check->languages, name);
	if (!language) {
		(void)language_fail_unknown(check->languages, name, check->err);
		return fail_yml_at(check, "/lang");
	}
	check->yml->language = language;
	/* From here on the language has one name, whichever alias the task uses. */
	json_object_set_new(check->yml->task, "lang", json_string(language->name));
	return 0;
}

static int
check_config(const struct check *check)
{
	AUTO_JSON json_t *schema = NULL;
	json_t *config = json_object_get(check->yml->task, "config");
	if (!check->yml->language->ops->config_schema)
		return 0;
	int rc = schema_load(check->yml->language->ops->config_schema, &schema, check->err);
	if (rc == 0)
		rc = schema_check_at(schema, config, check->name, check->yml->places, "/config", check->err);
	return rc ? rc : schema_defaults(schema, config, check->err);
}

/* ---- all of it ---- */

static int
check_form(const struct check *check)
{
	AUTO_JSON json_t *schema = NULL;
	int rc = schema_load(task_schema, &schema, check->err);
	if (rc == 0)
		schema_sizes(schema, check->yml->task);
	if (rc == 0)
		rc = schema_check(schema, check->yml->task, check->name, check->yml->places, check->err);
	if (rc)
		return rc;
	/* A key without a value (`config:`) counts as absent. */
	static const char *const optional[] = {"description", "config", "templates"};
	for (size_t i = 0; i < ARRAY_SIZE(optional); i++)
		if (json_is_null(json_object_get(check->yml->task, optional[i])))
			json_object_del(check->yml->task, optional[i]);
	return schema_defaults(schema, check->yml->task, check->err);
}

int
task_yml_parse(const struct languages *languages, const char *name, const char *text, size_t size,
	struct task_yml *ret_yml, struct kettle_error *err)
{
	static int (*const checks[])(const struct check *) = {
		check_form, find_yml_language, check_config, check_yml_files, check_templates, check_worlds, check_work};
	AUTO_TASK_YML struct task_yml yml = {0};
	struct kettle_error unasked = {0};
	struct check check = {.languages = languages, .name = name, .yml = &yml, .err = err ? err : &unasked};
	int rc = yaml_parse(name, text, size, &yml.task, &yml.places, check.err);
	for (size_t i = 0; rc == 0 && i < ARRAY_SIZE(checks); i++)
		rc = checks[i](&check);
	if (rc)
		return rc;
	*ret_yml = yml;
	yml = (struct task_yml){0};
	return 0;
}

void
task_yml_free(struct task_yml *yml)
{
	json_decref_all(yml->task, yml->places);
	*yml = (struct task_yml){0};
}

int
task_yml_set_harness(const char *name, const char *text, const char *harness, char **ret_text, struct kettle_error *err)
{
	AUTO_JSON json_t *root = NULL, *longer = NULL;
	size_t size = strlen(text);
	int rc = yaml_parse(name, text, size, &root, NULL, err);
	if (rc)
		return rc;
	AUTO_FREE char *appended =
		xasprintf("%s%sharness: %s\n", text, size && text[size - 1] == '\n' ? "" : "\n", harness);
	if (member_is(root, "harness", harness)) {
		*ret_text = xstrdup(text);
	} else if (yaml_parse(name, appended, strlen(appended), &longer, NULL, NULL) == 0 &&
			   member_is(longer, "harness", harness)) {
		*ret_text = STEAL(appended);
	} else {
		AUTO_JSON json_t *own = json_deep_copy(root); /* aliases share one value */
		(void)json_object_set_new(own, "harness", json_string(harness));
		*ret_text = json_text(own, JSON_INDENT(2));
	}
	return 0;
}
