/* SPDX-License-Identifier: MIT */
/* Competition files: checked like task files, and the tasks that they name read by the same rules. */
#include <config.h>

#include "task/competition.h"

#include "base/base.h"
#include "base/embedded_text.h"
#include "base/file.h"
#include "base/schema.h"
#include "base/text.h"
#include "base/yaml.h"
#include "task/task_form.h"
#include "task/folder.h"
#include "task/task.h"
#include "task/task_yml.h"

/* A file that is being read. */
struct competition_reader {
	const struct languages *languages;
	const struct source_dir *source_dir;
	const char *file;
	char *label; /* its name in messages */
	json_t *root, *places;
};

static void
free_reading(struct competition_reader *reader)
{
	free(reader->label);
	json_decref_all(reader->root, reader->places);
}
#define AUTO_READING __attribute__((cleanup(free_reading)))

/* Puts the place in front of the sentence. */
static int
fail_competition_at(const struct competition_reader *reader, const char *pointer, struct kettle_error *err)
{
	return yaml_fail_at(reader->label, reader->places, pointer, err);
}

int
competition_deadline(const char *text, int64_t *ret_ms, struct kettle_error *err)
{
	*ret_ms = 0;
	if (!text || !text[strspn(text, " ")])
		return 0;
	if (*text == '+')
		return kettle_fail(err, KETTLE_EINVAL,
			"The deadline \"%.40s\" would change with every sync: write a date (2026-07-31), with a time in UTC if "
			"need be (2026-07-31 18:00).",
			text);
	return time_parse_deadline(text, 0, ret_ms, err);
}

/* ---- the file ---- */

static int
read_yaml(struct competition_reader *reader, struct kettle_error *err)
{
	AUTO_FREE char *text = NULL;
	size_t size = 0;
	struct kettle_error why = {0};
	int rc = source_dir_read(reader->source_dir, reader->file, 0, YAML_MAX_BYTES, &text, &size, &why);
	if (rc == KETTLE_ETOOBIG)
		return kettle_fail(err, rc, "%s: it exceeds the limit of %u MiB.", reader->label, YAML_MAX_BYTES >> 20);
	if (rc)
		return kettle_fail(err, rc, "%s: %s", reader->label, why.message);
	return yaml_parse(reader->label, text, size, &reader->root, &reader->places, err);
}

static int
check_form(const struct competition_reader *reader, struct kettle_error *err)
{
	AUTO_JSON json_t *schema = NULL;
	if (json_object_get(reader->root, "files") && json_object_get(reader->root, "lang"))
		return kettle_fail(err, KETTLE_EINVAL,
			"%s: this is a task, not a competition; its file must be called task.yml.", reader->label);
	int rc = schema_load(competition_schema, &schema, err);
	return rc ? rc : schema_check(schema, reader->root, reader->label, reader->places, err);
}

static int
check_deadline(
	const struct competition_reader *reader, const json_t *object, const char *pointer, struct kettle_error *err)
{
	int64_t ms = 0;
	const char *text = json_text_or_null(object, "deadline");
	return competition_deadline(text, &ms, err) ? fail_competition_at(reader, pointer, err) : 0;
}

static int
check_problem(const struct competition_reader *reader, size_t index, struct kettle_error *err)
{
	char pointer[64];
	const json_t *problems = json_object_get(reader->root, "problems"), *problem = json_array_get(problems, index);
	const char *name = json_text_or_null(problem, "name");
	(void)snprintf(pointer, sizeof(pointer), "/problems/%zu/deadline", index);
	int rc = check_deadline(reader, problem, pointer, err);
	for (size_t i = 0; i < index && rc == 0; i++) {
		const char *other = json_text_or_null(json_array_get(problems, i), "name");
		if (strcasecmp(other, name) != 0)
			continue;
		(void)kettle_fail(err, KETTLE_EINVAL, "two problems are called `%s`; each needs a name of its own.", name);
		(void)snprintf(pointer, sizeof(pointer), "/problems/%zu/name", index);
		rc = fail_competition_at(reader, pointer, err);
	}
	return rc;
}

static int
check_competition_file(const struct competition_reader *reader, struct kettle_error *err)
{
	int rc = check_form(reader, err);
	if (rc == 0)
		rc = check_deadline(reader, reader->root, "/deadline", err);
	for (size_t i = 0; rc == 0 && i < json_array_size(json_object_get(reader->root, "problems")); i++)
		rc = check_problem(reader, i, err);
	return rc;
}

/* ---- problems ---- */

static int
read_competition_task(
	const struct competition_reader *reader, const char *directory, json_t **ret_bundle, struct kettle_error *err)
{
	AUTO_SOURCE_DIR struct source_dir source_dir = {0};
	AUTO_JSON json_t *raw = NULL;
	AUTO_FREE char *text = NULL, *label = NULL;
	size_t size = 0;
	int rc = source_dir_below(reader->source_dir, directory, &source_dir, err);
	/* A reference file may stand in place of a folder. */
	if (rc && source_dir_read(reader->source_dir, directory, 0, YAML_MAX_BYTES, &text, &size, NULL) == 0) {
		const char *slash = strrchr(directory, '/');
		rc = utf8_valid(text, size)
				 ? task_single_load(reader->languages, slash ? slash + 1 : directory, text, size, NULL, &raw, err)
				 : kettle_fail(err, KETTLE_EINVAL, "`%s` is not UTF-8 text.", directory);
	} else if (rc == 0) {
		label = source_dir_label(&source_dir, "task.yml");
		rc = task_folder_load(reader->languages, &source_dir, source_dir_name(&source_dir), &raw, err);
	}
	return rc ? rc : task_complete(reader->languages, raw, label, ret_bundle, err);
}

/* A deadline as text, or null where it is empty. New reference. */
static json_t *
deadline_of(const json_t *object)
{
	const char *text = json_text_or_null(object, "deadline");
	return text && text[strspn(text, " ")] ? json_string(text) : NULL;
}

static json_t *
read_problem(const struct competition_reader *reader, size_t index)
{
	const json_t *problem = json_array_get(json_object_get(reader->root, "problems"), index);
	const char *directory = json_text_or_null(problem, "directory");
	json_t *gpus = json_object_get(problem, "gpus"), *deadline = deadline_of(problem);
	AUTO_JSON json_t *read = NULL, *bundle = NULL;
	struct kettle_error why = {0};
	char pointer[64];
	(void)snprintf(pointer, sizeof(pointer), "/problems/%zu/directory", index);
	if (read_competition_task(reader, directory, &read, &why) == KETTLE_ENOENT && why.cause == KETTLE_CAUSE_FOLDER)
		(void)fail_competition_at(reader, pointer, &why);
	if (!deadline)
		deadline = deadline_of(reader->root);
	if (read)
		(void)task_add_harness(reader->languages, read, json_text_or_null(problem, "harness"), &bundle, &why);
	return json_pack("{s:O, s:s, s:o?, s:o, s:O?, s:s?}", "name", json_object_get(problem, "name"), "directory",
		directory, "deadline", deadline, "gpus", json_is_array(gpus) ? json_incref(gpus) : json_array(), "bundle",
		bundle, "error", bundle ? NULL : why.message);
}

/*
 * Reads one competition file and the tasks that it names (folders, or single reference files, seen from it; in an
 * archive ../ ends at its top):
 *   {"name", "file", "description", "deadline": as written or null,
 *    "problems": [{"name", "directory", "deadline": its own, else the competition's, or null, "gpus": [device],
 *        "bundle": task (task.h) or null, "error": sentence or null}]}
 * A problem whose task is wrong has a sentence; the others are read all the same. Errors of the file itself name it and
 * the line: unknown keys with the nearest known one, an invalid deadline, a repeated name; *ret_set is then the set with
 * the sentence as "error" and without problems, named after the file where its name cannot be read. New reference,
 * always. [any]
 */
static int
competition_read(const struct languages *languages, const struct source_dir *source_dir, const char *file,
	json_t **ret_set, struct kettle_error *err)
{
	AUTO_READING struct competition_reader reader = {
		.languages = languages, .source_dir = source_dir, .file = file, .label = source_dir_label(source_dir, file)};
	AUTO_JSON json_t *problems = json_array();
	struct kettle_error why = {0};
	int rc = read_yaml(&reader, &why);
	if (rc == 0)
		rc = check_competition_file(&reader, &why);
	if (rc < 0) {
		/* A set whose file cannot be read: an error instead of problems. New reference. */
		const char *name = json_text_or_null(reader.root, "name");
		*ret_set = json_pack("{s:s, s:s, s:s, s:n, s:[], s:s}", "name", name && *name ? name : reader.file, "file",
			reader.file, "description", "", "deadline", "problems", "error", why.message);
		return kettle_fail(err, rc, "%s", why.message);
	}
	for (size_t i = 0; i < json_array_size(json_object_get(reader.root, "problems")); i++)
		json_array_append_new(problems, read_problem(&reader, i));
	const char *description = json_text_or_null(reader.root, "description");
	*ret_set = json_pack("{s:O, s:s, s:s, s:O*, s:o?, s:O}", "name", json_object_get(reader.root, "name"), "file", file,
		"description", description ? description : "", "standings", json_object_get(reader.root, "standings"),
		"deadline", deadline_of(reader.root), "problems", problems);
	return 0;
}

/* ---- all of them ---- */

static bool
is_called(const json_t *set, const char *name)
{
	const char *file = json_text_or_null(set, "file"), *dot = strrchr(file, '.');
	size_t len = dot ? (size_t)(dot - file) : strlen(file);
	return strcasecmp(json_text_or_null(set, "name"), name) == 0 || strcasecmp(file, name) == 0 ||
		   (strlen(name) == len && strncasecmp(file, name, len) == 0);
}

static int
keep_one(json_t *sets, const char *name, struct kettle_error *err)
{
	AUTO_JSON json_t *names = json_object(), *wrong = NULL;
	for (size_t i = json_array_size(sets); i-- > 0;) {
		json_t *set = json_array_get(sets, i), *error = json_object_get(set, "error");
		json_object_set_new(names, json_text_or_null(set, "name"), json_true());
		if (error) {
			json_decref(wrong);
			wrong = json_incref(error);
		}
		if (!is_called(set, name))
			(void)json_array_remove(sets, i);
	}
	if (json_array_size(sets))
		return 0;
	const char *near = nearest_key(name, names);
	if (!near && wrong)
		return kettle_fail(err, KETTLE_ENOENT, "There is no set `%.100s` there, as far as its files can be read: %s",
			name, json_string_value(wrong));
	return kettle_fail(err, KETTLE_ENOENT, "There is no set `%.100s` there%s%s%s", name, NEAREST_END(near));
}

static int
fail_no_competition(const struct source_dir *source_dir, const char *path, struct kettle_error *err)
{
	AUTO_FREE char *folder = task_form_near_competitions(source_dir);
	return kettle_fail(err, KETTLE_EINVAL,
		"%s contains no competition file (a YAML file with `name` and `problems`)%s%s%s.", path,
		folder ? "; its folder `" : "", folder ? folder : "", folder ? "` does" : "");
}

/* The files of a folder, or only the one with that name; path: for messages. */
static int
read_files(const struct languages *languages, const struct source_dir *source_dir, const json_t *files,
	const char *path, const char *set, json_t **ret_sets, struct kettle_error *err)
{
	AUTO_JSON json_t *sets = json_array();
	if (json_array_size(files) == 0)
		return fail_no_competition(source_dir, path, err);
	json_array_each(files, file) {
		json_t *one = NULL;
		(void)competition_read(languages, source_dir, json_string_value(file), &one, NULL);
		json_array_append_new(sets, one);
	}
	int rc = set ? keep_one(sets, set, err) : 0;
	const json_t *only = json_array_size(sets) == 1 ? json_array_get(sets, 0) : NULL;
	if (rc == 0 && json_object_get(only, "error")) {
		AUTO_JSON json_t *again = NULL;
		rc = competition_read(languages, source_dir, json_text_or_null(only, "file"), &again, err);
	}
	if (rc == 0 && json_dumpb(sets, NULL, 0, JSON_COMPACT) > COMPETITION_MAX_BYTES)
		return kettle_fail(err, KETTLE_ETOOBIG,
			"The tasks of `%s` are over the %u MiB that one sync may carry; sync its sets one by one.", path,
			COMPETITION_MAX_BYTES >> 20);
	if (rc == 0)
		*ret_sets = STEAL(sets);
	return rc;
}

int
competition_read_all(
	const struct languages *languages, const char *path, const char *set, json_t **ret_sets, struct kettle_error *err)
{
	AUTO_TASK_FORM struct task_form form = {0};
	int rc = task_form_open(path, &form, err);
	return rc ? rc : read_files(languages, &form.source_dir, form.competitions, path, set, ret_sets, err);
}

int
competition_read_folder(const struct languages *languages, const struct source_dir *source_dir, const char *set,
	json_t **ret_sets, struct kettle_error *err)
{
	AUTO_SOURCE_DIR struct source_dir place = {0};
	int rc = source_dir_below(source_dir, ".", &place, err);
	AUTO_JSON json_t *files = rc < 0 ? NULL : task_form_place_competitions(&place);
	return rc < 0 ? rc : read_files(languages, &place, files, place.shown, set, ret_sets, err);
}

int
competition_read_repository(const struct languages *languages, const struct task_archive *archive, const char *folder,
	const char *set, json_t **ret_sets, struct kettle_error *err)
{
	AUTO_FREE char *top = task_archive_top(archive);
	AUTO_SOURCE_DIR struct source_dir whole = source_dir_archived(archive, top), below = {0};
	if (!folder)
		return competition_read_folder(languages, &whole, set, ret_sets, err);
	int rc = path_check_inside(folder, err);
	if (rc == 0)
		rc = source_dir_below(&whole, folder, &below, err);
	return rc ? rc : competition_read_folder(languages, &below, set, ret_sets, err);
}
