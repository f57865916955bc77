/* SPDX-License-Identifier: MIT */
/* A self-contained task: everything that it names is inside one folder, and task.yml changed where it must be. */
#include <config.h>

#include "task/pack.h"

#include "base/base.h"
#include "base/json_text.h"
#include "base/text.h"
#include "base/yaml.h"
#include "task/task_form.h"
#include "task/folder.h"
#include "task/task.h"
#include "task/task_yml.h"

#define YML_NAME "task.yml"

/* A pack while it is made. */
struct pack_builder {
	const struct languages *languages;
	struct task_form form;
	json_t *raw, *bundle; /* as read, as checked */
	json_t *files;        /* path in the pack → contents */
	json_t *edits;        /* pointer into task.yml → path in the pack */
};

static void
free_packing(struct pack_builder *builder)
{
	task_form_free(&builder->form);
	json_decref_all(builder->raw, builder->bundle, builder->files, builder->edits);
}
#define AUTO_PACKING __attribute__((cleanup(free_packing)))

/* ---- reading ---- */

static int
read_pack_task(struct pack_builder *builder, const char *path, const char *lang, struct kettle_error *err)
{
	struct task_form *form = &builder->form;
	int rc = task_form_open(path, form, err);
	if (rc)
		return rc;
	if (form->kind == TASK_FORM_COMPETITION)
		return kettle_fail(err, KETTLE_EINVAL, "`%s` contains a competition, not one task.", path);
	if (form->kind == TASK_FORM_SINGLE)
		rc = task_single_load(builder->languages, form->name, form->text, form->size, lang, &builder->raw, err);
	else
		rc = task_folder_load(builder->languages, &form->source_dir, form->name, &builder->raw, err);
	AUTO_FREE char *label = form->kind == TASK_FORM_SINGLE ? NULL : source_dir_label(&form->source_dir, YML_NAME);
	return rc ? rc : task_complete(builder->languages, builder->raw, label, &builder->bundle, err);
}

/* ---- places in the pack ---- */

static bool
is_ascii(const char *text)
{
	for (; *text; text++)
		if (*text < ' ' || *text > '~')
			return false;
	return true;
}

/* Whether a path may hold these contents: no other file has it, and no file is above or below it. */
static bool
is_free(const json_t *files, const char *path, const json_t *contents)
{
	size_t len = strlen(path);
	json_object_each(files, taken, other) {
		size_t taken_len = strlen(taken);
		if (strcmp(taken, path) == 0)
			return json_equal(other, contents);
		if (strncmp(taken, path, len) == 0 && taken[len] == '/')
			return false;
		if (strncmp(taken, path, taken_len) == 0 && path[taken_len] == '/')
			return false;
	}
	return true;
}

/* The path in the pack for a file from outside: its own name, below a numbered folder if that is taken. New. */
static char *
free_path(const json_t *files, const char *wanted, const json_t *contents)
{
	AUTO_BUF struct buf path = {0};
	buf_adds(&path, wanted);
	for (int i = 1; !is_free(files, path.data, contents); i++) {
		path.len = 0;
		buf_printf(&path, "shared%d/%s", i, wanted);
	}
	return buf_take(&path);
}

static int
put(struct pack_builder *builder, const char *source, const char *pointer, const char *fallback, json_t *contents,
	struct kettle_error *err)
{
	unsigned up = 0;
	AUTO_FREE char *inner = NULL;
	int rc = task_yml_source(source, &up, &inner, err);
	if (rc)
		return rc;
	AUTO_FREE char *path = free_path(builder->files, is_ascii(inner) ? inner : fallback, contents);
	json_object_set(builder->files, path, contents);
	if (up == 0 && strcmp(path, inner) == 0)
		return 0; /* as the author wrote it */
	json_object_set_new(builder->edits, pointer, json_string(path));
	return 0;
}

/* Files of the folder come first, so they keep their paths. */
static bool
is_outside(const char *source)
{
	unsigned up = 0;
	AUTO_FREE char *inner = NULL;
	return task_yml_source(source, &up, &inner, NULL) != 0 || up > 0;
}

static int
put_files(struct pack_builder *builder, bool outside, struct kettle_error *err)
{
	size_t i;
	json_t *file;
	json_array_foreach(json_object_get(json_object_get(builder->bundle, "task"), "files"), i, file) {
		char pointer[64];
		const char *source = json_text_or_null(file, "source");
		const char *name = json_text_or_null(file, "name");
		if (strcmp(source, TASK_SUBMISSION) == 0 || is_outside(source) != outside)
			continue;
		(void)snprintf(pointer, sizeof(pointer), "/files/%zu/source", i);
		int rc =
			put(builder, source, pointer, name, json_object_get(json_object_get(builder->bundle, "files"), name), err);
		if (rc)
			return rc;
	}
	return 0;
}

static int
put_templates(struct pack_builder *builder, bool outside, struct kettle_error *err)
{
	json_object_each(json_object_get(json_object_get(builder->bundle, "task"), "templates"), language, source) {
		char pointer[64];
		const char *path = json_string_value(source);
		const json_t *template = json_object_get(json_object_get(builder->bundle, "templates"), language);
		AUTO_JSON json_t *contents = json_pack("{s:O}", "text", json_object_get(template, "text"));
		if (is_outside(path) != outside)
			continue;
		(void)snprintf(pointer, sizeof(pointer), "/templates/%s", language);
		int rc = put(builder, path, pointer, "template", contents, err);
		if (rc)
			return rc;
	}
	return 0;
}

/* ---- solutions ---- */

static int
put_solution_folder(struct pack_builder *builder, const char *folder, struct kettle_error *err)
{
	AUTO_JSON json_t *names = source_dir_list(&builder->form.source_dir, folder);
	json_array_each(names, name) {
		AUTO_FREE char *data = NULL;
		size_t size = 0;
		char path[300];
		int len = snprintf(path, sizeof(path), "%s/%s", folder, json_string_value(name));
		if (len >= (int)sizeof(path) || !is_ascii(path))
			return kettle_fail(err, KETTLE_EINVAL, "The name of the solution `%.100s` is too long or not plain text.",
				json_string_value(name));
		int rc = source_dir_read(&builder->form.source_dir, path, 0, TASK_MAX_BYTES, &data, &size, err);
		if (rc)
			return rc;
		json_object_set_new(builder->files, path, contents_json(data, size));
	}
	return 0;
}

static int
put_solutions(struct pack_builder *builder, struct kettle_error *err)
{
	int rc = put_solution_folder(builder, "solutions/correct", err);
	return rc ? rc : put_solution_folder(builder, "solutions/wrong", err);
}

/* ---- task.yml ---- */

static json_t *
node_at(json_t *root, const char *pointer)
{
	unsigned long index = 0;
	if (sscanf(pointer, "/files/%lu/", &index) == 1)
		return json_array_get(json_object_get(root, "files"), index);
	return json_object_get(root, "templates");
}

/* Written from its values, because a source behind a YAML alias cannot be edited in place. */
static int
rewrite(const struct pack_builder *builder, const char *yml, char **ret_yml, struct kettle_error *err)
{
	AUTO_JSON json_t *root = NULL;
	int rc = yaml_parse(YML_NAME, yml, strlen(yml), &root, NULL, err);
	if (rc)
		return rc;
	AUTO_JSON json_t *own = json_deep_copy(root); /* aliases share one value */
	json_object_each(builder->edits, pointer, path)
		json_object_set(node_at(own, pointer), strrchr(pointer, '/') + 1, path);
	*ret_yml = json_text(own, JSON_INDENT(2));
	return 0;
}

static int
put_yml(struct pack_builder *builder, bool anew, struct kettle_error *err)
{
	AUTO_FREE char *changed = NULL;
	const char *yml = json_text_or_null(builder->bundle, "yml");
	int rc = anew ? rewrite(builder, yml, &changed, err) : yaml_edit(yml, strlen(yml), builder->edits, &changed, err);
	if (rc)
		return rc;
	json_t *contents = json_pack("{s:s}", "text", changed);
	json_object_set_new(builder->files, YML_NAME, contents);
	return 0;
}

static int
check_pack(const struct pack_builder *builder, const json_t *pack, struct kettle_error *err)
{
	AUTO_FREE char *data = NULL;
	size_t size = 0;
	AUTO_JSON json_t *raw = NULL, *bundle = NULL;
	struct task_archive *archive = NULL;
	AUTO_SOURCE_DIR struct source_dir source_dir = {0};
	const char *name = json_text_or_null(pack, "name");
	int rc = task_pack_zip(pack, &data, &size, err);
	if (rc == 0)
		rc = task_archive_read(name, data, size, &archive, err);
	if (rc == 0)
		source_dir = source_dir_archived(archive, name);
	if (rc == 0)
		rc = task_folder_load(builder->languages, &source_dir, name, &raw, err);
	if (rc == 0)
		rc = task_complete(builder->languages, raw, NULL, &bundle, err);
	task_archive_free(archive);
	if (rc == 0 && (!json_equal(json_object_get(bundle, "hash"), json_object_get(builder->bundle, "hash")) ||
					   json_object_size(json_object_get(bundle, "templates")) !=
						   json_object_size(json_object_get(builder->bundle, "templates"))))
		return kettle_fail(err, KETTLE_EINTERNAL, "The packed task does not mean the same as the task `%s`.", name);
	return rc;
}

static int
gather(struct pack_builder *builder, bool solutions, struct kettle_error *err)
{
	json_t *yml = json_pack("{s:O}", "text", json_object_get(builder->bundle, "yml"));
	json_object_set_new(builder->files, YML_NAME, yml); /* its place is taken */
	int rc = 0;
	for (int outside = 0; outside < 2 && rc == 0; outside++) {
		rc = put_files(builder, outside, err);
		if (rc == 0)
			rc = put_templates(builder, outside, err);
		if (rc == 0 && !outside && solutions)
			rc = put_solutions(builder, err);
	}
	return rc;
}

int
task_pack(const struct languages *languages, const char *path, const char *lang, bool solutions, json_t **ret_pack,
	struct kettle_error *err)
{
	AUTO_PACKING struct pack_builder builder = {.languages = languages, .files = json_object(), .edits = json_object()};
	int rc = read_pack_task(&builder, path, lang, err);
	if (rc == 0)
		rc = gather(&builder, solutions, err);
	if (rc)
		return rc;
	AUTO_JSON json_t *pack = json_pack("{s:O, s:O, s:O}", "name", json_object_get(builder.bundle, "name"), "hash",
		json_object_get(builder.bundle, "hash"), "files", builder.files);
	/* First with the author's text and comments. */
	if (put_yml(&builder, false, NULL) != 0 || check_pack(&builder, pack, NULL) != 0) {
		rc = put_yml(&builder, true, err);
		if (rc == 0)
			rc = check_pack(&builder, pack, err);
	}
	if (rc == 0)
		*ret_pack = STEAL(pack);
	return rc;
}

int
task_pack_reference(
	const struct languages *languages, const char *path, bool solutions, json_t **ret_pack, struct kettle_error *err)
{
	AUTO_PACKING struct pack_builder builder = {.languages = languages, .files = json_object()};
	int rc = read_pack_task(&builder, path, NULL, err);
	if (rc)
		return rc;
	const struct task_form *form = &builder.form;
	if (form->kind != TASK_FORM_SINGLE)
		return kettle_fail(err, KETTLE_EINVAL, "`%s` is not a single reference file.", path);
	if (json_object_set_new(builder.files, form->name, contents_json(form->text, form->size)) != 0)
		return kettle_fail(err, KETTLE_EINVAL, "The name of `%s` is not UTF-8.", form->name);
	if (solutions)
		rc = put_solutions(&builder, err);
	if (rc)
		return rc;
	*ret_pack = json_pack("{s:O, s:O, s:O, s:s}", "name", json_object_get(builder.bundle, "name"), "hash",
		json_object_get(builder.bundle, "hash"), "files", builder.files, "reference", form->name);
	return 0;
}

int
task_pack_zip(const json_t *pack, char **ret_data, size_t *ret_size, struct kettle_error *err)
{
	return task_archive_write(json_text_or_null(pack, "name"), json_object_get(pack, "files"), ret_data, ret_size, err);
}
