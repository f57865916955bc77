/* SPDX-License-Identifier: MIT */
/* Reads what lies in a task's folder: regular files only, bounded, and no link that leads elsewhere. */
#include <config.h>

#include "task_folder.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "buf.h"
#include "cleanup.h"
#include "contents.h"
#include "file.h"
#include "task.h"
#include "task_yml.h"
#include "utf8.h"
#include "yaml.h"

#define YML_NAME "task.yml"

/* A folder that is being read. */
struct folder {
	char *path;     /* real path of the folder */
	char *yml_path; /* of its task.yml */
	char *name;     /* the folder's own name, as bundles have it */
	char *label;    /* "NAME/task.yml": what messages begin with */
	char *reach;    /* the highest folder that a source reaches; links must stay below it */
	size_t left;    /* bytes that may still be read */
	struct task_yml yml;
	char *text; /* of task.yml */
	size_t text_size;
	json_t *files, *templates, *remarks;
};

static void
free_folder(struct folder *folder)
{
	free(folder->path);
	free(folder->yml_path);
	free(folder->name);
	free(folder->label);
	free(folder->reach);
	free(folder->text);
	task_yml_free(&folder->yml);
	json_decref(folder->files);
	json_decref(folder->templates);
	json_decref(folder->remarks);
}
#define AUTO_FOLDER __attribute__((cleanup(free_folder)))

static int
fail_memory(struct kettle_error *err)
{
	return kettle_fail(err, KETTLE_ENOMEM, "There is not enough memory to read the task.");
}

/* The path some levels up; new string. */
static char *
folder_above(const char *path, unsigned levels)
{
	char *above = strdup(path);
	for (; above && levels; levels--) {
		char *slash = strrchr(above, '/');
		if (slash)
			slash[slash == above] = '\0';
	}
	return above;
}

static bool
is_below(const char *path, const char *folder)
{
	size_t len = strlen(folder);
	if (strcmp(folder, "/") == 0)
		return true;
	return strncmp(path, folder, len) == 0 && (path[len] == '/' || path[len] == '\0');
}

/* ---- finding the folder ---- */

/* Names that messages, file names and other machines can take; another one is not the task's but the folder's matter.
 */
static const char *
plain_name(const char *name)
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
	size_t len = strlen(name);
	return len && len <= TASK_MAX_NAME && strspn(name, plain) == len && name[0] != '.' && name[0] != '-' ? name
																										 : "task";
}

static int
fail_path(const char *path, struct kettle_error *err)
{
	int error = errno;
	int code = error == ENOENT || error == ENOTDIR ? KETTLE_ENOENT
			   : error == EACCES || error == EPERM ? KETTLE_EACCES
												   : KETTLE_EINVAL;
	return kettle_fail(err, code, "The task `%s` cannot be read: %s.", path, strerror(error));
}

/* Finds folder and task.yml, whichever of them path names. */
static int
find_folder(struct folder *folder, const char *path, struct kettle_error *err)
{
	struct stat st;
	AUTO_FREE char *real = realpath(path, NULL);
	if (!real || stat(real, &st) != 0)
		return fail_path(path, err);
	bool is_folder = S_ISDIR(st.st_mode);
	const char *base = strrchr(path, '/');
	base = base ? base + 1 : path;
	if (!is_folder && strcmp(base, YML_NAME) != 0)
		return kettle_fail(err, KETTLE_EINVAL, "`%s` is neither a task's folder nor its " YML_NAME ".", path);
	folder->path = is_folder ? STEAL(real) : folder_above(real, 1);
	folder->yml_path = folder->path ? path_join(folder->path, YML_NAME) : NULL;
	if (!folder->yml_path)
		return fail_memory(err);
	folder->name = strdup(plain_name(strrchr(folder->path, '/') + 1));
	AUTO_BUF struct buf label = {0};
	if (!folder->name || buf_printf(&label, "%s/" YML_NAME, folder->name))
		return fail_memory(err);
	folder->label = buf_take(&label);
	return folder->label ? 0 : fail_memory(err);
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

/* Where links may lead: as far up as the sources themselves go. */
static int
find_reach(struct folder *folder, struct kettle_error *err)
{
	unsigned most = 0;
	size_t i;
	json_t *file, *source;
	const char *language;
	json_array_foreach(json_object_get(folder->yml.task, "files"), i, file)
		reach_up(&most, json_object_get(file, "source"));
	json_object_foreach(json_object_get(folder->yml.task, "templates"), language, source)
		reach_up(&most, source);
	folder->reach = folder_above(folder->path, most);
	return folder->reach ? 0 : fail_memory(err);
}

/* The real path of a source; new string. */
static int
resolve(const struct folder *folder, const char *source, char **ret_path, struct kettle_error *err)
{
	unsigned up = 0;
	AUTO_FREE char *inner = NULL;
	int rc = task_yml_source(source, &up, &inner, err);
	if (rc)
		return rc;
	AUTO_FREE char *base = folder_above(folder->path, up);
	AUTO_FREE char *path = base ? path_join(base, inner) : NULL;
	if (!path)
		return fail_memory(err);
	AUTO_FREE char *real = realpath(path, NULL);
	if (!real && errno == ENOENT)
		return kettle_fail(err, KETTLE_ENOENT, "the file `%s` does not exist.", source);
	if (!real && errno == ELOOP)
		return kettle_fail(err, KETTLE_EINVAL, "the file `%s` is a link that leads in a circle.", source);
	if (!real)
		return kettle_fail(err, KETTLE_EINVAL, "the file `%s` cannot be read: %s.", source, strerror(errno));
	if (!is_below(real, folder->reach))
		return kettle_fail(err, KETTLE_EINVAL,
			"the file `%s` is a link out of the task; name the file itself as the source, by ../ if need be.", source);
	*ret_path = STEAL(real);
	return 0;
}

/* Reads one source within what is left of the task's size. The message has no file and line in front. */
static int
read_source(struct folder *folder, const char *source, char **ret_data, size_t *ret_size, struct kettle_error *err)
{
	AUTO_FREE char *path = NULL;
	struct stat st;
	int rc = resolve(folder, source, &path, err);
	if (rc)
		return rc;
	if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
		return kettle_fail(err, KETTLE_EINVAL, "`%s` is %s, not a regular file.", source,
			S_ISDIR(st.st_mode) ? "a folder" : "a device, a FIFO or a socket");
	rc = file_read(path, folder->left, ret_data, ret_size, err);
	if (rc == KETTLE_ETOOBIG)
		return kettle_fail(err, rc, "with `%s` the task's files are over the %u MiB that they may have together.",
			source, TASK_MAX_BYTES >> 20);
	if (rc == KETTLE_EACCES)
		return kettle_fail(err, rc, "the file `%s` cannot be read: permission denied.", source);
	if (rc == 0)
		folder->left -= *ret_size;
	return rc;
}

static int
read_yml(struct folder *folder, const struct languages *languages, struct kettle_error *err)
{
	folder->left = YAML_MAX_BYTES;
	folder->reach = strdup(folder->path);
	if (!folder->reach)
		return fail_memory(err);
	struct stat st;
	if (lstat(folder->yml_path, &st) != 0 && errno == ENOENT)
		return kettle_fail(err, KETTLE_ENOENT, "The folder `%s` has no " YML_NAME ".", folder->path);
	int rc = read_source(folder, YML_NAME, &folder->text, &folder->text_size, err);
	if (rc == KETTLE_ETOOBIG)
		return kettle_fail(
			err, rc, "%s: it is larger than the %u MiB that it may have.", folder->label, YAML_MAX_BYTES >> 20);
	if (rc)
		return task_yml_fail_at(&folder->yml, folder->label, "", err);
	if (!utf8_valid(folder->text, folder->text_size))
		return kettle_fail(err, KETTLE_EINVAL, "%s: it is not UTF-8 text.", folder->label);
	rc = task_yml_parse(languages, folder->label, folder->text, folder->text_size, &folder->yml, err);
	free(STEAL(folder->reach));
	return rc ? rc : find_reach(folder, err);
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
		const char *source = json_string_value(json_object_get(file, "source"));
		if (strcmp(source, TASK_SUBMISSION) == 0)
			continue;
		(void)snprintf(pointer, sizeof(pointer), "/files/%zu/source", i);
		if (read_source(folder, source, &data, &size, err))
			return task_yml_fail_at(&folder->yml, folder->label, pointer, err);
		const char *name = json_string_value(json_object_get(file, "name"));
		if (json_object_set_new(folder->files, name, contents_json(data, size)))
			return fail_memory(err);
	}
	return 0;
}

static int
read_templates(struct folder *folder, struct kettle_error *err)
{
	const char *language;
	json_t *source;
	json_object_foreach(json_object_get(folder->yml.task, "templates"), language, source) {
		char pointer[64];
		AUTO_FREE char *data = NULL;
		size_t size = 0;
		const char *path = json_string_value(source), *slash = strrchr(path, '/');
		(void)snprintf(pointer, sizeof(pointer), "/templates/%s", language);
		int rc = read_source(folder, path, &data, &size, err);
		if (rc == 0 && !utf8_valid(data, size))
			rc = kettle_fail(err, KETTLE_EINVAL, "the template `%s` is not UTF-8 text.", path);
		if (rc)
			return task_yml_fail_at(&folder->yml, folder->label, pointer, err);
		json_t *entry = json_pack("{s:s, s:s%}", "file_name", slash ? slash + 1 : path, "text", data, size);
		if (json_object_set_new(folder->templates, language, entry))
			return fail_memory(err);
	}
	return 0;
}

/* A file that bears the submission's name looks as if it were run; it never is. */
static int
remark_on_submission(struct folder *folder, struct kettle_error *err)
{
	struct stat st;
	AUTO_FREE char *path = path_join(folder->path, folder->yml.submission);
	if (!path)
		return fail_memory(err);
	if (lstat(path, &st) != 0)
		return 0;
	json_t *remark =
		json_sprintf("The folder holds a file `%s`; it is never run as part of the task, since that name is "
					 "the submission's (it may be a template).",
			folder->yml.submission);
	return json_array_append_new(folder->remarks, remark) ? fail_memory(err) : 0;
}

int
task_folder_load(const struct languages *languages, const char *path, json_t **ret_bundle, struct kettle_error *err)
{
	AUTO_FOLDER struct folder folder = {.files = json_object(), .templates = json_object(), .remarks = json_array()};
	int rc = find_folder(&folder, path, err);
	if (rc == 0)
		rc = read_yml(&folder, languages, err);
	folder.left = TASK_MAX_BYTES;
	if (rc == 0)
		rc = read_files(&folder, err);
	if (rc == 0)
		rc = read_templates(&folder, err);
	if (rc == 0)
		rc = remark_on_submission(&folder, err);
	if (rc)
		return rc;
	json_t *bundle = json_pack("{s:s, s:s%, s:O, s:O, s:O}", "name", folder.name, "yml", folder.text, folder.text_size,
		"files", folder.files, "templates", folder.templates, "remarks", folder.remarks);
	if (!bundle)
		return fail_memory(err);
	*ret_bundle = bundle;
	return 0;
}
