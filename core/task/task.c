/* SPDX-License-Identifier: MIT */
/* Makes a checked bundle of a task's text and files. */
#include <config.h>

#include "task/task.h"

#include "base/base.h"
#include "base/text.h"
#include "base/schema.h"
#include "base/yaml.h"
#include "judge/judging.h"
#include "task/task_form.h"
#include "task/folder.h"
#include "task/task_yml.h"

/* The members that a client may send. Those that Kettle adds to a bundle are made anew, so they are not checked. */
static const char bundle_schema[] =
	"{\"type\": \"object\", \"required\": [\"name\", \"yml\", \"files\"], \"properties\": {"
	"\"name\": {\"type\": \"string\", \"pattern\": \"^[A-Za-z0-9_][A-Za-z0-9._-]{0,99}$\"},"
	"\"yml\": {\"type\": \"string\"},"
	"\"files\": {\"type\": \"object\", \"maxProperties\": 500, \"additionalProperties\": {\"type\": \"object\"}},"
	"\"templates\": {\"type\": \"object\", \"maxProperties\": 50, \"additionalProperties\": {"
	" \"type\": \"object\", \"required\": [\"file_name\", \"text\"], \"properties\": {"
	" \"file_name\": {\"type\": \"string\", \"pattern\": \"^[^/]{1,200}$\"}, \"text\": {\"type\": \"string\"}}}}}}";

const char *const task_running_keys[] = {"lang", "config", "tests", "benchmarks", "ranking_by", "test_timeout",
	"benchmark_timeout", "ranked_timeout", "memory", "multi_gpu", "libraries", "seed", "harness", NULL};

/* A bundle while it is made. */
struct bundle_builder {
	const json_t *given;
	char *label;      /* its task.yml in messages; NULL until the bundle's form is checked: "NAME/task.yml" */
	bool own_harness; /* the key `harness`, if there is one, has its place in the author's text */
	struct task_yml yml;
	size_t bytes;
	json_t *files, *templates, *remarks, *hashes;
};

static void
free_making(struct bundle_builder *builder)
{
	free(builder->label);
	task_yml_free(&builder->yml);
	json_decref_all(builder->files, builder->templates, builder->remarks, builder->hashes);
}
#define AUTO_MAKING __attribute__((cleanup(free_making)))

static int
count_bytes(struct bundle_builder *builder, size_t size, struct kettle_error *err)
{
	builder->bytes += size;
	if (builder->bytes <= TASK_MAX_BYTES)
		return 0;
	return kettle_fail(err, KETTLE_ETOOBIG, "%s: the task's files together exceed the limit of %u MiB.", builder->label,
		TASK_MAX_BYTES >> 20);
}

static int
check_given(struct bundle_builder *builder, const struct languages *languages, struct kettle_error *err)
{
	AUTO_JSON json_t *schema = NULL;
	int rc = schema_load(bundle_schema, &schema, err);
	if (rc == 0)
		rc = schema_check(schema, builder->given, "task bundle", NULL, err);
	if (rc)
		return rc;
	if (!builder->label)
		builder->label = xasprintf("%s/task.yml", json_text_or_null(builder->given, "name"));
	const json_t *yml = json_object_get(builder->given, "yml");
	if (json_string_length(yml) > YAML_MAX_BYTES)
		return kettle_fail(
			err, KETTLE_ETOOBIG, "%s: it exceeds the limit of %u MiB.", builder->label, YAML_MAX_BYTES >> 20);
	return task_yml_parse(
		languages, builder->label, json_string_value(yml), json_string_length(yml), &builder->yml, err);
}

static int
take_contents(struct bundle_builder *builder, const char *name, const json_t *contents, struct kettle_error *err)
{
	AUTO_FREE char *data = NULL;
	size_t size = 0;
	char hash[65];
	struct kettle_error inner = {0};
	if (contents_bytes(contents, &data, &size, &inner))
		return kettle_fail(err, inner.code, "%s: the file `%s`: %s", builder->label, name, inner.message);
	int rc = count_bytes(builder, size, err);
	if (rc)
		return rc;
	sha256_hex(data, size, hash);
	/* Written anew, so that one content has one form. */
	json_object_set_new(builder->files, name, contents_json(data, size));
	json_object_set_new(builder->hashes, name, json_string(hash));
	return 0;
}

static int
take_file(struct bundle_builder *builder, const char *name, struct kettle_error *err)
{
	const json_t *contents = json_object_get(json_object_get(builder->given, "files"), name);
	if (!contents)
		return kettle_fail(err, KETTLE_ENOENT, "%s: the contents of the file `%s` are missing.", builder->label, name);
	return take_contents(builder, name, contents, err);
}

static int
take_files(struct bundle_builder *builder, struct kettle_error *err)
{
	json_array_each(json_object_get(builder->yml.task, "files"), file) {
		const char *source = json_text_or_null(file, "source");
		if (strcmp(source, TASK_SUBMISSION) == 0)
			continue;
		int rc = take_file(builder, json_text_or_null(file, "name"), err);
		if (rc)
			return rc;
	}
	return 0;
}

/* With `harness: kettle`, the files of the language's harness; whatever a client sent under their names does not count. */
static int
take_harness(struct bundle_builder *builder, struct kettle_error *err)
{
	const struct language *language = builder->yml.language;
	const json_t *task = builder->yml.task;
	struct kettle_error why = {0};
	AUTO_JSON json_t *files = NULL;
	if (!json_object_get(task, "harness"))
		return 0;
	int rc = language->ops->adopt ? language->ops->adopt(language->self, task, builder->files, &files, &why)
								  : kettle_fail(&why, KETTLE_EINVAL,
										"the language %s has no harness for tasks that bring their own, so `harness: "
										"kettle` is not possible.",
										language->name);
	json_object_each(files, name, contents) {
		if (rc == 0 && (json_object_get(builder->files, name) || strcmp(name, builder->yml.submission) == 0))
			rc = kettle_fail(&why, KETTLE_EINVAL,
				"the task has a file `%s`, which is a name of Kettle's harness; give the file another name.", name);
		if (rc == 0)
			rc = take_contents(builder, name, contents, &why);
	}
	if (rc == 0)
		return 0;
	if (!builder->own_harness)
		return kettle_fail(err, rc, "%s: %s", json_text_or_null(builder->given, "name"), why.message);
	kettle_fail(err, rc, "%s", why.message);
	return rc == KETTLE_EINVAL ? yaml_fail_at(builder->label, builder->yml.places, "/harness", err) : rc;
}

static int
take_templates(struct bundle_builder *builder, struct kettle_error *err)
{
	json_object_each(json_object_get(builder->yml.task, "templates"), language, unused) {
		const json_t *given = json_object_get(json_object_get(builder->given, "templates"), language);
		if (!given)
			return kettle_fail(err, KETTLE_ENOENT, "%s: the template for %s is missing.", builder->label, language);
		int rc = count_bytes(builder, json_string_length(json_object_get(given, "text")), err);
		if (rc)
			return rc;
		json_t *entry = json_pack(
			"{s:O, s:O}", "file_name", json_object_get(given, "file_name"), "text", json_object_get(given, "text"));
		json_object_set_new(builder->templates, language, entry);
	}
	return 0;
}

static bool
any_case_has(const json_t *cases, const char *key)
{
	json_array_each(cases, one)
		if (json_object_get(one, key))
			return true;
	return false;
}

static void
add_remarks(struct bundle_builder *builder)
{
	const json_t *task = builder->yml.task, *yml = json_object_get(builder->given, "yml");
	yaml_add_remarks(builder->label, json_string_value(yml), json_string_length(yml), "jit_cache", builder->remarks);
	if (any_case_has(json_object_get(task, "tests"), "seed") ||
		any_case_has(json_object_get(task, "benchmarks"), "seed"))
		return;
	json_t *remark = json_string("No test or benchmark has a `seed`, so the secret runs see the same inputs as the "
								 "public ones.");
	json_array_append_new(builder->remarks, remark);
}

/* Canonical JSON: keys sorted, no spaces. */
static void
hash_task(const struct bundle_builder *builder, char ret_hash[65])
{
	AUTO_JSON json_t *running = json_object();
	for (const char *const *key = task_running_keys; *key; key++) {
		json_t *value = json_object_get(builder->yml.task, *key);
		if (value)
			json_object_set(running, *key, value);
	}
	AUTO_JSON json_t *whole =
		json_pack("{s:O, s:O, s:s}", "task", running, "files", builder->hashes, "submission", builder->yml.submission);
	AUTO_FREE char *text = json_dumps(whole, JSON_COMPACT | JSON_SORT_KEYS);
	sha256_hex(text, strlen(text), ret_hash);
}

/*
 * Plans a job as a trial, so that the task's author, and not a submitter, gets the error of a mistake (a source that is
 * none of its files). An error about the device says nothing about the task.
 */
static int
try_plan(const struct bundle_builder *builder, const struct languages *languages, const json_t *bundle,
	struct kettle_error *err)
{
	AUTO_JSON json_t *device = json_pack("{s:s}", "name", "check");
	AUTO_PLAN struct plan *plan = NULL;
	struct kettle_error found = {0};
	int rc = plan_make(languages, bundle, "", "ranked", device, "0", NULL, &plan, &found);
	if (rc == 0 || rc == KETTLE_EUNAVAIL)
		return 0;
	kettle_fail(err, rc, "%s", found.message);
	return rc == KETTLE_EINVAL ? yaml_fail_at(builder->label, builder->yml.places, "/config", err) : rc;
}

/* Whether it is a list of modules' names; an invalid one is ignored, because it only makes runs begin sooner. */
static bool
imports_are_plain(const json_t *imported)
{
	if (json_array_size(imported) == 0 || json_array_size(imported) > TASK_IMPORTS_MAX)
		return false;
	json_array_each(imported, name) {
		const char *text = json_is_string(name) ? json_string_value(name) : "";
		size_t plain = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.");
		if (plain == 0 || plain > TASK_IMPORT_MAX || text[plain])
			return false;
	}
	return true;
}

static int
check_bundle(const struct languages *languages, const json_t *bundle, const char *label, bool own_harness,
	json_t **ret_bundle, struct kettle_error *err)
{
	AUTO_MAKING struct bundle_builder builder = {
		.given = bundle,
		.label = label ? xstrdup(label) : NULL,
		.own_harness = own_harness,
		.files = json_object(),
		.templates = json_object(),
		.remarks = json_array(),
		.hashes = json_object(),
	};
	char hash[65];
	int rc = check_given(&builder, languages, err);
	if (rc == 0)
		rc = take_files(&builder, err);
	if (rc == 0)
		rc = take_harness(&builder, err);
	if (rc == 0)
		rc = take_templates(&builder, err);
	if (rc)
		return rc;
	add_remarks(&builder);
	hash_task(&builder, hash);
	json_t *made = json_pack("{s:O, s:O, s:O, s:O, s:s, s:O, s:O, s:s, s:o}", "name", json_object_get(bundle, "name"),
		"yml", json_object_get(bundle, "yml"), "task", builder.yml.task, "files", builder.files, "submission",
		builder.yml.submission, "templates", builder.templates, "remarks", builder.remarks, "hash", hash, "judging",
		judging_of(builder.yml.language, builder.yml.task, builder.files));
	if (imports_are_plain(json_object_get(bundle, "imported")))
		json_object_set(made, "imported", json_object_get(bundle, "imported"));
	rc = try_plan(&builder, languages, made, err);
	if (rc) {
		json_decref(made);
		return rc;
	}
	*ret_bundle = made;
	return 0;
}

int
task_check_bundle(
	const struct languages *languages, const json_t *bundle, json_t **ret_bundle, struct kettle_error *err)
{
	return check_bundle(languages, bundle, NULL, true, ret_bundle, err);
}

/* The bundle of a task as a client sends it, whatever its form. ret_label: of its task.yml; not set for a single file. */
static int
task_load(const struct languages *languages, const struct task_form *form, const char *path, const char *lang,
	json_t **ret_raw, char **ret_label, struct kettle_error *err)
{
	switch (form->kind) {
	case TASK_FORM_FOLDER:
	case TASK_FORM_ARCHIVE:
		*ret_label = source_dir_label(&form->source_dir, "task.yml");
		return task_folder_load(languages, &form->source_dir, form->name, ret_raw, err);
	case TASK_FORM_SINGLE:
		return task_single_load(languages, form->name, form->text, form->size, lang, ret_raw, err);
	case TASK_FORM_COMPETITION:
		break;
	}
	return kettle_fail(err, KETTLE_EINVAL,
		"`%s` contains a competition (%s), not one task: name the folder of one of its tasks, or sync the competition.",
		path, json_string_value(json_array_get(form->competitions, 0)));
}

/* A requested language must be the task's. */
static int
check_language(const struct languages *languages, const json_t *bundle, const char *label, const char *lang,
	struct kettle_error *err)
{
	const char *found = json_text_or_null(json_object_get(bundle, "task"), "lang");
	const struct language *wanted = lang ? language_find(languages, lang) : NULL;
	if (!lang || (wanted && strcmp(wanted->name, found) == 0))
		return 0;
	if (!wanted)
		return language_fail_unknown(languages, lang, err);
	return kettle_fail(err, KETTLE_EINVAL, "%s: the task's language is %s, not %s as requested.",
		label ? label : json_text_or_null(bundle, "name"), found, wanted->name);
}

int
task_complete(const struct languages *languages, const json_t *raw, const char *label, json_t **ret_bundle,
	struct kettle_error *err)
{
	AUTO_JSON json_t *bundle = NULL;
	int rc = check_bundle(languages, raw, label, true, &bundle, err);
	if (rc)
		return rc;
	/* Remarks about the folder come before those of the check. */
	json_t *remarks = json_copy(json_object_get(raw, "remarks"));
	json_array_extend(remarks, json_object_get(bundle, "remarks"));
	json_object_set_new(bundle, "remarks", remarks);
	*ret_bundle = STEAL(bundle);
	return 0;
}

static int
read_form(const struct languages *languages, const struct task_form *form, const char *path, const char *lang,
	json_t **ret_bundle, struct kettle_error *err)
{
	AUTO_JSON json_t *raw = NULL, *bundle = NULL;
	AUTO_FREE char *label = NULL;
	int rc = task_load(languages, form, path, lang, &raw, &label, err);
	if (rc == 0)
		rc = task_complete(languages, raw, label, &bundle, err);
	if (rc == 0)
		rc = check_language(languages, bundle, label, lang, err);
	if (rc == 0)
		*ret_bundle = STEAL(bundle);
	return rc;
}

int
task_languages(const struct languages *languages, const char *path, json_t **ret_names, struct kettle_error *err)
{
	AUTO_TASK_FORM struct task_form form = {0};
	int rc = task_form_open(path, &form, err);
	if (rc == 0)
		*ret_names = form.kind == TASK_FORM_SINGLE ? task_single_languages(languages, form.name) : json_array();
	return rc;
}

int
task_read_as(const struct languages *languages, const char *path, const char *lang, json_t **ret_bundle,
	struct kettle_error *err)
{
	AUTO_TASK_FORM struct task_form form = {0};
	int rc = task_form_open(path, &form, err);
	return rc ? rc : read_form(languages, &form, path, lang, ret_bundle, err);
}

int
task_read_bytes(const struct languages *languages, const char *name, const void *data, size_t size, const char *lang,
	json_t **ret_bundle, struct kettle_error *err)
{
	AUTO_TASK_FORM struct task_form form = {0};
	int rc = task_form_open_bytes(name, data, size, &form, err);
	return rc ? rc : read_form(languages, &form, name, lang, ret_bundle, err);
}

int
task_read(const struct languages *languages, const char *path, json_t **ret_bundle, struct kettle_error *err)
{
	return task_read_as(languages, path, NULL, ret_bundle, err);
}

int
task_check_harness(const struct languages *languages, const json_t *bundle, const char *harness, json_t **ret_bundle,
	struct kettle_error *err)
{
	AUTO_FREE char *text = NULL;
	const char *yml = json_text_or_null(bundle, "yml"), *name = json_text_or_null(bundle, "name");
	if (!harness || !yml || !name)
		return task_check_bundle(languages, bundle, ret_bundle, err);
	AUTO_FREE char *label = xasprintf("%s/task.yml", name);
	int rc = task_yml_set_harness(label, yml, harness, &text, err);
	if (rc)
		return rc;
	AUTO_JSON json_t *changed = json_copy((json_t *)bundle);
	json_object_set_new(changed, "yml", json_string(text));
	return check_bundle(languages, changed, NULL, strcmp(text, yml) == 0, ret_bundle, err);
}

int
task_add_harness(const struct languages *languages, json_t *bundle, const char *harness, json_t **ret_bundle,
	struct kettle_error *err)
{
	if (!harness) {
		*ret_bundle = json_incref(bundle);
		return 0;
	}
	int rc = task_check_harness(languages, bundle, harness, ret_bundle, err);
	if (rc == 0)
		json_object_set(*ret_bundle, "remarks", json_object_get(bundle, "remarks"));
	return rc;
}

int
task_read_harness(const struct languages *languages, const char *path, const char *lang, const char *harness,
	json_t **ret_bundle, struct kettle_error *err)
{
	AUTO_JSON json_t *bundle = NULL;
	int rc = task_read_as(languages, path, lang, &bundle, err);
	return rc ? rc : task_add_harness(languages, bundle, harness, ret_bundle, err);
}

const char *
task_template(const json_t *bundle)
{
	json_object_each(json_object_get(bundle, "templates"), language, template)
		return json_text_or_null(template, "text");
	return NULL;
}
