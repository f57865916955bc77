/* SPDX-License-Identifier: MIT */
/* Reads a task from the folder of its task.yml, on this machine or in an archive, or from a single reference file. */
#include <config.h>

#include "task/folder.h"

#include "base/base.h"
#include "base/json_text.h"
#include "base/text.h"
#include "base/yaml.h"
#include "task/task_yml.h"

#define YML_NAME "task.yml"

/* A folder that is being read. */
struct folder {
	const struct source_dir *source_dir;
	char *name;     /* as bundles have it */
	char *label;    /* of task.yml: the beginning of messages */
	unsigned reach; /* levels up that a source goes; links must stay below that */
	size_t left;    /* bytes that may still be read */
	struct task_yml yml;
	char *text; /* of task.yml */
	size_t text_size;
	json_t *files, *templates, *remarks;
};

static void
free_folder(struct folder *folder)
{
	free_all(folder->name, folder->label, folder->text);
	task_yml_free(&folder->yml);
	json_decref_all(folder->files, folder->templates, folder->remarks);
}
#define AUTO_FOLDER __attribute__((cleanup(free_folder)))

/* The name if it is valid in messages, in file names and on other machines, else "task". Borrowed or static. */
static const char *
valid_name(const char *name)
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
	size_t len = strlen(name);
	bool sound = len && len <= TASK_MAX_NAME && strspn(name, plain) == len && name[0] != '.' && name[0] != '-';
	return sound ? name : "task";
}

/* ---- reading ---- */

static void
reach_up(unsigned *most, const json_t *source)
{
	unsigned up = 0;
	AUTO_FREE char *path = NULL;
	const char *text = json_string_value(source);
	if (strcmp(text, TASK_SUBMISSION) != 0 && task_yml_source(text, &up, &path, NULL) == 0 && up > *most)
		*most = up;
}

/* The topmost folder to which links may lead: that of the sources themselves. */
static void
find_reach(struct folder *folder)
{
	json_array_each(json_object_get(folder->yml.task, "files"), file)
		reach_up(&folder->reach, json_object_get(file, "source"));
	json_object_each(json_object_get(folder->yml.task, "templates"), language, source)
		reach_up(&folder->reach, source);
}

/* Reads one source within what is left of the task's size. The message has no file and line in front. */
static int
read_source(struct folder *folder, const char *source, char **ret_data, size_t *ret_size, struct kettle_error *err)
{
	int rc = source_dir_read(folder->source_dir, source, folder->reach, folder->left, ret_data, ret_size, err);
	if (rc == KETTLE_ETOOBIG)
		return kettle_fail(
			err, rc, "with `%s` the task's files together exceed the limit of %u MiB.", source, TASK_MAX_BYTES >> 20);
	if (rc == 0)
		folder->left -= *ret_size;
	return rc;
}

static int
read_yml(struct folder *folder, const struct languages *languages, struct kettle_error *err)
{
	folder->left = YAML_MAX_BYTES;
	if (!source_dir_has(folder->source_dir, YML_NAME))
		return kettle_fail(err, KETTLE_ENOENT, "The folder `%s` has no " YML_NAME ".", folder->source_dir->shown);
	int rc = read_source(folder, YML_NAME, &folder->text, &folder->text_size, err);
	if (rc == KETTLE_ETOOBIG)
		return kettle_fail(err, rc, "%s: it exceeds the limit of %u MiB.", folder->label, YAML_MAX_BYTES >> 20);
	if (rc)
		return yaml_fail_at(folder->label, NULL, "", err);
	rc = task_yml_parse(languages, folder->label, folder->text, folder->text_size, &folder->yml, err);
	if (rc == 0)
		find_reach(folder);
	return rc;
}

static int
read_files(struct folder *folder, struct kettle_error *err)
{
	size_t i;
	json_t *file;
	json_array_foreach(json_object_get(folder->yml.task, "files"), i, file) {
		char pointer[64];
		AUTO_FREE char *data = NULL;
		size_t size = 0;
		const char *source = json_text_or_null(file, "source");
		if (strcmp(source, TASK_SUBMISSION) == 0)
			continue;
		(void)snprintf(pointer, sizeof(pointer), "/files/%zu/source", i);
		if (read_source(folder, source, &data, &size, err))
			return yaml_fail_at(folder->label, folder->yml.places, pointer, err);
		const char *name = json_text_or_null(file, "name");
		json_object_set_new(folder->files, name, contents_json(data, size));
	}
	return 0;
}

static int
read_templates(struct folder *folder, struct kettle_error *err)
{
	json_object_each(json_object_get(folder->yml.task, "templates"), language, source) {
		char pointer[64];
		AUTO_FREE char *data = NULL;
		size_t size = 0;
		const char *path = json_string_value(source), *slash = strrchr(path, '/');
		(void)snprintf(pointer, sizeof(pointer), "/templates/%s", language);
		int rc = read_source(folder, path, &data, &size, err);
		if (rc == 0 && !utf8_valid(data, size))
			rc = kettle_fail(err, KETTLE_EINVAL, "the template `%s` is not UTF-8 text.", path);
		if (rc)
			return yaml_fail_at(folder->label, folder->yml.places, pointer, err);
		json_t *entry = json_pack("{s:s, s:s%}", "file_name", slash ? slash + 1 : path, "text", data, size);
		json_object_set_new(folder->templates, language, entry);
	}
	return 0;
}

/* A file with the submission's name is never run, although it looks as if it were. */
static void
remark_on_submission(struct folder *folder)
{
	if (!source_dir_has(folder->source_dir, folder->yml.submission))
		return;
	json_t *remark = json_sprintf("The folder contains a file `%s`, which is not part of the task, since the "
								  "submission has that name (it may be a template).",
		folder->yml.submission);
	json_array_append_new(folder->remarks, remark);
}

int
task_folder_load(const struct languages *languages, const struct source_dir *source_dir, const char *name,
	json_t **ret_bundle, struct kettle_error *err)
{
	AUTO_FOLDER struct folder folder = {
		.source_dir = source_dir, .files = json_object(), .templates = json_object(), .remarks = json_array()};
	folder.name = xstrdup(valid_name(name));
	folder.label = source_dir_label(source_dir, YML_NAME);
	int rc = read_yml(&folder, languages, err);
	folder.left = TASK_MAX_BYTES;
	if (rc == 0)
		rc = read_files(&folder, err);
	if (rc == 0)
		rc = read_templates(&folder, err);
	if (rc)
		return rc;
	remark_on_submission(&folder);
	*ret_bundle = json_pack("{s:s, s:s%, s:O, s:O, s:O}", "name", folder.name, "yml", folder.text, folder.text_size,
		"files", folder.files, "templates", folder.templates, "remarks", folder.remarks);
	return 0;
}

/* ---- single reference files ---- */

/* Whether the language takes such a file by default. */
static bool
claims(const struct language *language, const char *name)
{
	const struct kettle_language *ops = language->ops;
	if (!ops->single_file)
		return false;
	return language_ends_in(name, ops->references ? ops->references : ops->extensions);
}

static int
fail_unclaimed(const struct languages *languages, const char *name, struct kettle_error *err)
{
	for (size_t i = 0; i < languages->count; i++) {
		const struct kettle_language *ops = languages->items[i].ops;
		if (ops->single_file && ops->other_hint && language_ends_in(name, ops->other_references))
			return kettle_fail(err, KETTLE_EINVAL, "`%s` %s", name, ops->other_hint);
	}
	AUTO_FREE char *names = language_names(languages);
	return kettle_fail(err, KETTLE_EINVAL,
		"`%s` is neither a task's folder nor its task.yml, nor a zip, nor a reference file of a loaded language: %s.",
		name, names);
}

static int
single_choose(const struct languages *languages, const char *name, const char *lang,
	const struct language **ret_language, struct kettle_error *err)
{
	const struct language *language = lang ? language_find(languages, lang) : NULL;
	for (size_t i = 0; i < languages->count && !lang && !language; i++)
		if (claims(&languages->items[i], name))
			language = &languages->items[i];
	if (!language)
		return lang ? language_fail_unknown(languages, lang, err) : fail_unclaimed(languages, name, err);
	if (!language->ops->single_file)
		return kettle_fail(err, KETTLE_EUNAVAIL,
			"The language %s has no tasks of a single reference file; make a folder with a task.yml.", language->name);
	*ret_language = language;
	return 0;
}

/* Whether the language takes such a file only by request, and takes submissions of this ending. */
static bool
takes_by_request(const struct language *language, const char *name)
{
	const struct kettle_language *ops = language->ops;
	return ops->single_file && ops->other_references && language_ends_in(name, ops->other_references) &&
		   language_ends_in(name, ops->extensions);
}

json_t *
task_single_languages(const struct languages *languages, const char *name)
{
	json_t *names = json_array();
	size_t claiming = 0;
	for (size_t i = 0; i < languages->count; i++)
		if (claims(&languages->items[i], name))
			(void)json_array_append_new(names, json_string(languages->items[i].name));
	claiming = json_array_size(names);
	for (size_t i = 0; i < languages->count; i++)
		if (takes_by_request(&languages->items[i], name))
			(void)json_array_append_new(names, json_string(languages->items[i].name));
	if (claiming == 1 && json_array_size(names) == 1)
		(void)json_array_clear(names);
	return names;
}

/* The other languages that can make a task of a file, if none was named. New reference; NULL: none can. */
static json_t *
remark_languages(const struct languages *languages, const struct language *chosen, const char *name)
{
	AUTO_BUF struct buf others = {0};
	for (size_t i = 0; i < languages->count; i++) {
		const struct language *language = &languages->items[i];
		const struct kettle_language *ops = language->ops;
		if (language != chosen && ops->single_file && ops->other_references &&
			language_ends_in(name, ops->other_references))
			buf_printf(&others, "%s%s", others.len ? " or " : "", language->name);
	}
	return others.len == 0 ? NULL
						   : json_sprintf("`%s` was read as a task in %s; give the language (`lang`) to read it in %s.",
								 name, chosen->name, others.data);
}

int
task_single_load(const struct languages *languages, const char *name, const char *text, size_t size, const char *lang,
	json_t **ret_bundle, struct kettle_error *err)
{
	const struct language *language = NULL;
	AUTO_JSON json_t *made = NULL;
	int rc = single_choose(languages, name, lang, &language, err);
	if (rc == 0)
		rc = language->ops->single_file(language->self, name, text, size, &made, err);
	if (rc)
		return rc;
	json_t *task = json_object_get(made, "task"), *files = json_object_get(made, "files"),
		   *templates = json_object_get(made, "templates"), *remarks = json_object_get(made, "remarks");
	if (!json_is_object(task) || !json_is_object(files))
		return kettle_fail(err, KETTLE_EINTERNAL, "The language %s made no task from `%s`.", language->name, name);
	/* "softmax.py" makes the task "softmax". */
	const char *dot = strrchr(name, '.');
	AUTO_FREE char *stem = dot && dot > name ? xstrndup(name, (size_t)(dot - name)) : xstrdup(name);
	AUTO_JSON json_t *all = remarks ? json_copy(remarks) : json_array(),
					 *remark = lang ? NULL : remark_languages(languages, language, name);
	if (remark)
		(void)json_array_append(all, remark);
	/* JSON is YAML, so the result is read and checked like an author's task.yml. */
	AUTO_FREE char *yml = json_text(task, JSON_INDENT(2));
	*ret_bundle = json_pack("{s:s, s:s, s:O, s:o, s:o}", "name", valid_name(stem), "yml", yml, "files", files,
		"templates", templates ? json_incref(templates) : json_object(), "remarks", json_incref(all));
	return 0;
}
