/* SPDX-License-Identifier: MIT */
/* The forms in which a task, or a set of tasks, is given: which of them a path is. */
#include <config.h>

#include "task/task_form.h"

#include <errno.h>
#include <sys/stat.h>

#include "base/base.h"
#include "base/file.h"
#include "base/file_name.h"
#include "base/text.h"
#include "base/yaml.h"

#define YML_NAME "task.yml"
#define NAMED_MAX 5          /* tasks that a message lists */
#define FOLDERS_SEARCHED 100 /* for competition files, before a message says that there are none */

void
task_form_free(struct task_form *form)
{
	source_dir_free(&form->source_dir);
	task_archive_free(form->archive);
	free_all(form->name, form->text);
	json_decref(form->competitions);
	*form = (struct task_form){0};
}

/* The name "x" of "x.zip". New string. */
static char *
stem_of(const char *path)
{
	const char *base = file_name_of(path);
	const char *dot = strrchr(base, '.');
	return dot && dot > base ? xstrndup(base, (size_t)(dot - base)) : xstrdup(base);
}

/* ---- competition files ---- */

/* By its contents; a file that is not valid YAML counts as one, so that its error is reported. */
static bool
is_competition(const char *text, size_t size)
{
	AUTO_JSON json_t *value = NULL;
	if (yaml_parse("file", text, size, &value, NULL, NULL) == 0)
		return json_object_get(value, "problems") != NULL;
	return strstr(text, "problems:") != NULL;
}

/* The names of the competition files in a folder, [] where there is none. New reference. Blocking. [any] */
static json_t *
task_form_competitions(const struct source_dir *source_dir)
{
	AUTO_JSON json_t *all = source_dir_list(source_dir, "");
	json_t *names = json_array();
	json_array_each(all, name) {
		const char *file = json_string_value(name);
		AUTO_FREE char *text = NULL;
		size_t size = 0;
		if ((!file_name_ends_in(file, ".yaml") && !file_name_ends_in(file, ".yml")) || strcmp(file, YML_NAME) == 0)
			continue;
		if (source_dir_read(source_dir, file, 0, YAML_MAX_BYTES, &text, &size, NULL) || !is_competition(text, size))
			continue;
		json_array_append(names, name);
	}
	return names;
}

json_t *
task_form_place_competitions(struct source_dir *place)
{
	AUTO_SOURCE_DIR struct source_dir below = {0};
	AUTO_JSON json_t *names = task_form_competitions(place), *found = NULL;
	if (json_array_size(names) == 0 && source_dir_below(place, TASK_FORM_COMPETITIONS, &below, NULL) == 0)
		found = task_form_competitions(&below);
	if (json_array_size(found) == 0)
		return STEAL(names);
	source_dir_free(place);
	*place = below;
	below = (struct source_dir){0};
	return STEAL(found);
}

static bool
has_competitions(const struct source_dir *source_dir, const char *folder)
{
	AUTO_SOURCE_DIR struct source_dir below = {0};
	if (source_dir_below(source_dir, folder, &below, NULL) < 0)
		return false;
	AUTO_JSON json_t *names = task_form_place_competitions(&below);
	return json_array_size(names) > 0;
}

char *
task_form_near_competitions(const struct source_dir *source_dir)
{
	AUTO_JSON json_t *folders = source_dir_folders(source_dir);
	const json_t *folder;
	size_t i;
	json_array_foreach(folders, i, folder)
		if (i < FOLDERS_SEARCHED && has_competitions(source_dir, json_string_value(folder)))
			return xstrdup(json_string_value(folder));
	return NULL;
}

/* ---- archives ---- */

/* Folders at the top that hold a task.yml. */
static json_t *
top_tasks(const struct task_archive *archive)
{
	json_t *tops = json_array();
	for (size_t i = 0; i < task_archive_count(archive); i++) {
		const char *path = task_archive_path(archive, i), *slash = strchr(path, '/');
		if (slash && strcmp(slash + 1, YML_NAME) == 0)
			json_array_append_new(tops, json_stringn(path, (size_t)(slash - path)));
	}
	return tops;
}

static int
fail_no_task(const struct task_archive *archive, const json_t *tops, struct kettle_error *err)
{
	const char *deep = NULL;
	AUTO_FREE char *whole_top = task_archive_top(archive);
	AUTO_SOURCE_DIR struct source_dir whole = source_dir_archived(archive, whole_top);
	AUTO_FREE char *folder = json_array_size(tops) ? NULL : task_form_near_competitions(&whole);
	AUTO_BUF struct buf list = {0};
	size_t i;
	json_t *top;
	json_array_foreach((json_t *)tops, i, top)
		if (i < NAMED_MAX)
			buf_printf(&list, "%s`%s`", i ? ", " : "", json_string_value(top));
	if (json_array_size(tops))
		return kettle_fail(err, KETTLE_EINVAL,
			"%s: it contains %zu tasks (%s%s); a task's archive must contain exactly one.", task_archive_label(archive),
			json_array_size(tops), list.data ? list.data : "", json_array_size(tops) > NAMED_MAX ? ", …" : "");
	if (folder)
		return kettle_fail(err, KETTLE_EINVAL,
			"%s has competition files in its folder `%s`, but none at its top or in `" TASK_FORM_COMPETITIONS "`.",
			task_archive_label(archive), folder);
	for (i = 0; i < task_archive_count(archive) && !deep; i++)
		if (strcmp(file_name_of(task_archive_path(archive, i)), YML_NAME) == 0)
			deep = task_archive_path(archive, i);
	return kettle_fail(err, KETTLE_EINVAL,
		"%s: it has no " YML_NAME " at its top or in a folder there, and no competition file at its top%s%s%s.",
		task_archive_label(archive), deep ? " (but `" : "", deep ? deep : "", deep ? "`)" : "");
}

static int
place_archived(struct task_form *form, const char *path, struct kettle_error *err)
{
	size_t size;
	AUTO_JSON json_t *tops = top_tasks(form->archive);
	bool at_top = task_archive_find(form->archive, YML_NAME, &size);
	AUTO_FREE char *whole = task_archive_top(form->archive);
	const char *top = json_string_value(json_array_get(tops, 0));
	bool in_top = *whole && top && strcmp(whole, top) == 0;
	form->source_dir = source_dir_archived(form->archive, at_top ? "" : whole);
	if (!at_top && !in_top)
		form->competitions = task_form_place_competitions(&form->source_dir);
	form->kind = !at_top && json_array_size(form->competitions) ? TASK_FORM_COMPETITION : TASK_FORM_ARCHIVE;
	if (form->kind == TASK_FORM_ARCHIVE && !at_top) {
		if (json_array_size(tops) != 1)
			return fail_no_task(form->archive, tops, err);
		source_dir_free(&form->source_dir);
		form->source_dir = source_dir_archived(form->archive, top);
	}
	form->name = *source_dir_name(&form->source_dir) ? xstrdup(source_dir_name(&form->source_dir)) : stem_of(path);
	return 0;
}

static int
take_archive(struct task_form *form, const char *path, const void *data, size_t size, struct kettle_error *err)
{
	int rc = task_archive_read(path, data, size, &form->archive, err);
	return rc ? rc : place_archived(form, path, err);
}

static int
open_archive(struct task_form *form, const char *path, struct kettle_error *err)
{
	AUTO_FREE char *data = NULL;
	size_t size = 0;
	int rc = file_read(path, TASK_ARCHIVE_MAX_PACKED, &data, &size, err);
	if (rc == KETTLE_ETOOBIG)
		return kettle_fail(
			err, rc, "%s: the archive exceeds the limit of %u MiB.", path, TASK_ARCHIVE_MAX_PACKED >> 20);
	return rc ? rc : take_archive(form, path, data, size, err);
}

/* ---- folders and files ---- */

static int
open_folder(struct task_form *form, const char *path, struct kettle_error *err)
{
	int rc = source_dir_folder(path, &form->source_dir, err);
	if (rc)
		return rc;
	form->kind = TASK_FORM_FOLDER;
	form->name = xstrdup(source_dir_name(&form->source_dir));
	return 0;
}

/* A folder without a task may hold competition files. */
static int
open_folder_or_set(struct task_form *form, const char *path, struct kettle_error *err)
{
	int rc = open_folder(form, path, err);
	if (rc || source_dir_has(&form->source_dir, YML_NAME))
		return rc;
	form->competitions = task_form_place_competitions(&form->source_dir);
	if (json_array_size(form->competitions))
		form->kind = TASK_FORM_COMPETITION;
	return 0;
}

static int
open_folder_of(struct task_form *form, const char *path, struct kettle_error *err)
{
	AUTO_FREE char *real = realpath(path, NULL);
	char *slash = real ? strrchr(real, '/') : NULL;
	if (!slash)
		return kettle_fail(err, KETTLE_ENOENT, "`%s` cannot be read: %s.", path, strerror(errno));
	slash[slash == real] = '\0';
	int rc = open_folder(form, real, err);
	if (rc)
		return rc;
	size_t len = (size_t)(file_name_of(path) - path);
	free(form->source_dir.shown);
	form->source_dir.shown = len ? xstrndup(path, len) : xstrdup(".");
	return 0;
}

static int
open_competition(struct task_form *form, const char *path, struct kettle_error *err)
{
	int rc = open_folder_of(form, path, err);
	if (rc)
		return rc;
	form->kind = TASK_FORM_COMPETITION;
	form->competitions = json_pack("[s]", file_name_of(path));
	return form->competitions ? 0
							  : kettle_fail(err, KETTLE_EINVAL, "The name of `%s` is not UTF-8.", file_name_of(path));
}

static int
fail_long_single(const char *path, struct kettle_error *err)
{
	return kettle_fail(
		err, KETTLE_ETOOBIG, "`%s` exceeds the limit of %u MiB for a reference file.", path, YAML_MAX_BYTES >> 20);
}

static int
open_single(struct task_form *form, const char *path, struct kettle_error *err)
{
	int rc = file_read(path, YAML_MAX_BYTES, &form->text, &form->size, err);
	if (rc == KETTLE_ETOOBIG)
		return fail_long_single(path, err);
	if (rc)
		return rc;
	if (!utf8_valid(form->text, form->size))
		return kettle_fail(err, KETTLE_EINVAL,
			"`%s` is neither a task's folder nor its " YML_NAME
			", nor a zip, nor a reference file: it is not UTF-8 text.",
			path);
	/* Other files, such as solutions, lie beside it. */
	rc = open_folder_of(form, path, err);
	if (rc)
		return rc;
	form->kind = TASK_FORM_SINGLE;
	free(form->name);
	form->name = xstrdup(file_name_of(path));
	return 0;
}

static int
take_single(struct task_form *form, const char *name, const char *data, size_t size, struct kettle_error *err)
{
	if (size > YAML_MAX_BYTES)
		return fail_long_single(name, err);
	if (!utf8_valid(data, size))
		return kettle_fail(
			err, KETTLE_EINVAL, "`%s` is neither a zip nor a reference file: it is not UTF-8 text.", name);
	form->kind = TASK_FORM_SINGLE;
	form->name = xstrdup(name);
	form->text = xstrndup(data, size);
	form->size = size;
	return 0;
}

#define ZIP_HEAD 4

/* Whether it begins as zips do, an empty one too. */
static bool
is_zip_head(const char head[ZIP_HEAD])
{
	return memcmp(head, "PK\3\4", ZIP_HEAD) == 0 || memcmp(head, "PK\5\6", ZIP_HEAD) == 0;
}

static bool
begins_as_zip(const char *path)
{
	AUTO_FILE FILE *file = fopen(path, "re");
	char head[ZIP_HEAD] = "";
	return file && fread(head, 1, sizeof(head), file) == sizeof(head) && is_zip_head(head);
}

int
task_form_open(const char *path, struct task_form *ret_form, struct kettle_error *err)
{
	AUTO_TASK_FORM struct task_form form = {0};
	struct stat st;
	int rc;
	if (stat(path, &st) != 0) {
		rc = source_dir_folder(path, &form.source_dir, err); /* which says why */
		return rc ? rc : kettle_fail(err, KETTLE_EIO, "The task `%s` cannot be read.", path);
	}
	if (S_ISDIR(st.st_mode))
		rc = open_folder_or_set(&form, path, err);
	else if (!S_ISREG(st.st_mode))
		rc = kettle_fail(err, KETTLE_EINVAL, "`%s` is a device, a FIFO or a socket, not a task.", path);
	else if (file_name_ends_in(path, ".zip") || begins_as_zip(path))
		rc = open_archive(&form, path, err);
	else if (strcmp(file_name_of(path), YML_NAME) == 0)
		rc = open_folder_of(&form, path, err);
	else if (file_name_ends_in(path, ".yml") || file_name_ends_in(path, ".yaml"))
		rc = open_competition(&form, path, err);
	else
		rc = open_single(&form, path, err);
	if (rc)
		return rc;
	*ret_form = form;
	form = (struct task_form){0};
	return 0;
}

int
task_form_open_bytes(
	const char *name, const void *data, size_t size, struct task_form *ret_form, struct kettle_error *err)
{
	AUTO_TASK_FORM struct task_form form = {0};
	bool zip = file_name_ends_in(name, ".zip") || (size >= ZIP_HEAD && is_zip_head(data));
	int rc = zip ? take_archive(&form, name, data, size, err) : take_single(&form, name, data, size, err);
	if (rc)
		return rc;
	*ret_form = form;
	form = (struct task_form){0};
	return 0;
}
