/* SPDX-License-Identifier: MIT */
/* Turns a leaderboard's task into the files of a folder. */
#include <config.h>

#include "cli/actions/actions.h"

#include "base/buf.h"
#include "base/base.h"
#include "base/json_text.h"

#define PLANS "kettle-plans"
#define SUBMISSION "@SUBMISSION@"
#define MAX_UP 16 /* levels; the core allows fewer */

/* Removes the last part of a path, with its slash. */
static void
drop_last(struct buf *path)
{
	while (path->len > 0 && path->data[path->len - 1] != '/')
		path->len--;
	if (path->len > 0)
		path->len--;
	if (path->data)
		path->data[path->len] = '\0';
}

/* Appends a source to a path and resolves its dots. Returns how many levels above the path it leads. */
static unsigned
files_resolve(struct buf *path, const char *source)
{
	unsigned above = 0;
	while (*source) {
		size_t len = strcspn(source, "/");
		bool up = len == 2 && strncmp(source, "..", 2) == 0, stays = len == 0 || (len == 1 && *source == '.');
		if (up && path->len == 0)
			above++;
		else if (up)
			drop_last(path);
		else if (!stays)
			buf_printf(path, "%s%.*s", path->len ? "/" : "", (int)len, source);
		source += len + (source[len] == '/');
	}
	return above;
}

/* Returns how many levels above the task's folder a source is. */
static unsigned
levels_up(const char *source)
{
	AUTO_BUF struct buf path = {0};
	return files_resolve(&path, source);
}

static unsigned
deepest(const json_t *task)
{
	unsigned most = 0;
	json_array_each(json_object_get(task, "files"), file) {
		unsigned up = levels_up(json_text_or_empty(file, "source"));
		most = up > most ? up : most;
	}
	json_object_each(json_object_get(task, "templates"), name, path) {
		unsigned up = levels_up(json_is_string(path) ? json_string_value(path) : "");
		most = up > most ? up : most;
	}
	return most;
}

/* Stores contents at a source's path, relative to the task's folder. Two names of one source are one file. */
static int
place(json_t *files, const char *folder, const char *source, json_t *contents, struct kettle_error *err)
{
	AUTO_BUF struct buf path = {0};
	buf_adds(&path, folder);
	if (files_resolve(&path, source) > 0 || path.len == 0)
		return kettle_fail(err, KETTLE_EINVAL, "The task's source `%.200s` names no file.", source);
	const json_t *other = json_object_get(files, path.data);
	if (other && !json_equal(other, contents))
		return kettle_fail(err, KETTLE_EINVAL, "The task has two different files at `%.200s`.", path.data);
	if (json_object_set(files, path.data, contents) < 0)
		return kettle_fail(err, KETTLE_EINTERNAL, "The answer has no contents of `%.200s`.", source);
	return 0;
}

static int
place_sources(json_t *files, const char *folder, const json_t *answer, struct kettle_error *err)
{
	const json_t *task = json_object_get(answer, "task");
	json_array_each(json_object_get(task, "files"), file) {
		const char *source = json_text_or_empty(file, "source");
		json_t *contents = json_object_get(json_object_get(answer, "files"), json_text_or_empty(file, "name"));
		int rc = contents && strcmp(source, SUBMISSION) != 0 ? place(files, folder, source, contents, err) : 0;
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* Files that no source names are those of Kettle's harness (`harness: kettle`). */
static int
place_harness(json_t *files, const char *folder, const json_t *answer, struct kettle_error *err)
{
	const json_t *named = json_object_get(json_object_get(answer, "task"), "files");
	json_object_each(json_object_get(answer, "files"), name, contents) {
		int rc = list_find(named, "name", name) ? 0 : place(files, folder, name, contents, err);
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int
place_templates(json_t *files, const char *folder, const json_t *answer, struct kettle_error *err)
{
	const json_t *sources = json_object_get(json_object_get(answer, "task"), "templates");
	json_object_each(json_object_get(answer, "templates"), name, template) {
		const char *source = json_text_or_empty(sources, name);
		AUTO_JSON json_t *contents = json_pack("{s:O}", "text", json_object_get(template, "text"));
		int rc = place(files, folder, *source ? source : json_text_or_empty(template, "file_name"), contents, err);
		if (rc < 0)
			return rc;
	}
	return 0;
}

static void
place_plans(json_t *files, const json_t *answer)
{
	json_array_each(json_object_get(answer, "plans"), row) {
		AUTO_FREE char *text = json_text(row, JSON_INDENT(2));
		AUTO_FREE char *path =
			xasprintf(PLANS "/%s.%s.json", json_text_or_empty(row, "device"), json_text_or_empty(row, "mode"));
		json_object_set_new(files, path, json_pack("{s:s}", "text", text));
	}
}

/* Makes the path of the task's folder, as deep as its sources need. */
static int
task_folder(const json_t *answer, struct buf *folder, struct kettle_error *err)
{
	unsigned up = deepest(json_object_get(answer, "task"));
	if (up > MAX_UP)
		return kettle_fail(err, KETTLE_EINVAL, "The task's sources lie %u folders above it.", up);
	buf_adds(folder, "");
	for (unsigned i = 0; i < up; i++)
		buf_printf(folder, "%s%s", i > 0 ? "/" : "", i + 1 < up ? "tasks" : json_text_or_empty(answer, "name"));
	return 0;
}

int
task_files(const json_t *answer, json_t **ret_files, char **ret_task, struct kettle_error *err)
{
	AUTO_JSON json_t *files = json_object(), *yml = json_pack("{s:O}", "text", json_object_get(answer, "yml"));
	AUTO_BUF struct buf folder = {0};
	int rc = task_folder(answer, &folder, err);
	if (rc == 0)
		rc = place_sources(files, folder.data, answer, err);
	if (rc == 0)
		rc = place_harness(files, folder.data, answer, err);
	if (rc == 0)
		rc = place_templates(files, folder.data, answer, err);
	if (rc == 0)
		rc = place(files, folder.data, "task.yml", yml, err);
	if (rc < 0)
		return rc;
	place_plans(files, answer);
	*ret_task = buf_take(&folder);
	*ret_files = STEAL(files);
	return 0;
}
