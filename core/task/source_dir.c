/* SPDX-License-Identifier: MIT */
/* The place of a task: regular files only, bounded, and no link that leads elsewhere. */
#include <config.h>

#include "task/source_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>

#include "base/base.h"
#include "base/file.h"
#include "base/utf8.h"
#include "task/task_yml.h"

#define LIST_MAX 1000 /* names in a folder */

void
source_dir_free(struct source_dir *source_dir)
{
	free_all(source_dir->dir, source_dir->shown);
	*source_dir = (struct source_dir){0};
}

/* The path that many levels up; new string. On this machine it ends at "/". */
static char *
folder_above(const char *path, unsigned levels)
{
	char *above = xstrdup(path);
	for (; levels; levels--) {
		char *slash = strrchr(above, '/');
		if (slash)
			slash[slash == above] = '\0';
	}
	return above;
}

static bool
is_below(const char *path, const char *folder)
{
	return strcmp(folder, "/") == 0 || path_below(path, folder);
}

/* ---- places ---- */

static int
fail_source_path(const char *path, struct kettle_error *err)
{
	int error = errno;
	int rc = error == ENOENT || error == ENOTDIR ? KETTLE_ENOENT
			 : error == EACCES || error == EPERM ? KETTLE_EACCES
												 : KETTLE_EINVAL;
	return kettle_fail(err, rc, "The task `%s` cannot be read: %s.", path, strerror(error));
}

int
source_dir_folder(const char *path, struct source_dir *ret_dir, struct kettle_error *err)
{
	struct stat st;
	AUTO_FREE char *real = realpath(path, NULL);
	if (!real || stat(real, &st) != 0)
		return fail_source_path(path, err);
	if (!S_ISDIR(st.st_mode))
		return kettle_fail(err, KETTLE_EINVAL, "`%s` is not a folder.", path);
	*ret_dir = (struct source_dir){.dir = STEAL(real), .shown = xstrdup(path)};
	return 0;
}

struct source_dir
source_dir_archived(const struct task_archive *archive, const char *dir)
{
	const char *label = task_archive_label(archive);
	char *shown = *dir ? xasprintf("%s: %s", label, dir) : xasprintf("%s:", label);
	return (struct source_dir){.archive = archive, .dir = xstrdup(dir), .shown = shown};
}

char *
source_dir_label(const struct source_dir *source_dir, const char *file)
{
	const char *shown = source_dir->shown;
	size_t len = strlen(shown);
	if (strcmp(shown, ".") == 0)
		return xstrdup(file);
	if (source_dir->archive && !*source_dir->dir)
		return xasprintf("%s %s", shown, file);
	return xasprintf("%s%s%s", shown, len && shown[len - 1] == '/' ? "" : "/", file);
}

const char *
source_dir_name(const struct source_dir *source_dir)
{
	const char *slash = strrchr(source_dir->dir, '/');
	return slash ? slash + 1 : source_dir->dir;
}

/* Inside an archive: the folder `up` levels above, with `inner` below it. New path. */
static int
archived_path(const struct source_dir *source_dir, const char *source, unsigned up, const char *inner, char **ret_path,
	struct kettle_error *err)
{
	AUTO_FREE char *base = xstrdup(source_dir->dir);
	for (; up; up--) {
		char *slash = strrchr(base, '/');
		if (!*base)
			return kettle_fail(err, KETTLE_EINVAL,
				"the source `%s` is outside of the archive; `kettle task pack` writes a self-contained one.", source);
		*(slash ? slash : base) = '\0';
	}
	*ret_path = *base ? path_join(base, inner) : xstrdup(inner);
	return 0;
}

/* "." and "./" name the folder itself, which task_yml_source refuses as a file. */
static bool
is_itself(const char *relative)
{
	return *relative == '\0' || strspn(relative, "./") == strlen(relative) ? strstr(relative, "..") == NULL : false;
}

int
source_dir_below(
	const struct source_dir *source_dir, const char *relative, struct source_dir *ret_dir, struct kettle_error *err)
{
	unsigned up = 0;
	AUTO_FREE char *inner = NULL, *path = NULL;
	if (is_itself(relative)) {
		*ret_dir = (struct source_dir){
			.archive = source_dir->archive, .dir = xstrdup(source_dir->dir), .shown = xstrdup(source_dir->shown)};
		return 0;
	}
	int rc = task_yml_source(relative, &up, &inner, err);
	if (rc)
		return rc;
	if (source_dir->archive) {
		rc = archived_path(source_dir, relative, up, inner, &path, err);
		if (rc == 0 && !task_archive_has_folder(source_dir->archive, path))
			rc = kettle_blame(err, KETTLE_CAUSE_FOLDER, "",
				kettle_fail(err, KETTLE_ENOENT, "there is no folder `%s` in the archive.", path));
		if (rc == 0)
			*ret_dir = source_dir_archived(source_dir->archive, path);
		return rc;
	}
	AUTO_FREE char *base = folder_above(source_dir->dir, up);
	path = path_join(base, inner);
	struct source_dir below = {0};
	rc = source_dir_folder(path, &below, NULL);
	if (rc)
		return kettle_blame(err, KETTLE_CAUSE_FOLDER, "", kettle_fail(err, rc, "there is no folder `%s`.", relative));
	if (!is_below(below.dir, base)) {
		source_dir_free(&below);
		return kettle_fail(err, KETTLE_EINVAL,
			"the folder `%s` is a link that leads elsewhere; name the folder itself, with ../ if necessary.", relative);
	}
	free(below.shown);
	below.shown = source_dir_label(source_dir, relative);
	*ret_dir = below;
	return 0;
}

/* ---- reading ---- */

static int
read_archived(const struct source_dir *source_dir, const char *source, size_t max, char **ret_data, size_t *ret_size,
	struct kettle_error *err)
{
	unsigned up = 0;
	size_t size = 0;
	AUTO_FREE char *inner = NULL, *path = NULL;
	int rc = task_yml_source(source, &up, &inner, err);
	if (rc == 0)
		rc = archived_path(source_dir, source, up, inner, &path, err);
	if (rc)
		return rc;
	const char *data = task_archive_find(source_dir->archive, path, &size);
	if (!data && task_archive_has_folder(source_dir->archive, path))
		return kettle_fail(err, KETTLE_EINVAL, "`%s` is a folder, not a regular file.", source);
	if (!data)
		return kettle_fail(err, KETTLE_ENOENT, "the file `%s` does not exist in the archive.", source);
	if (size > max)
		return kettle_fail(err, KETTLE_ETOOBIG, "the file `%s` is too large.", source);
	*ret_data = xmemdup(data, size + 1);
	*ret_size = size;
	return 0;
}

static int
fail_find(const char *source, struct kettle_error *err)
{
	int error = errno;
	if (error == ENOENT)
		return kettle_fail(err, KETTLE_ENOENT, "the file `%s` does not exist.", source);
	if (error == ELOOP)
		return kettle_fail(err, KETTLE_EINVAL, "the file `%s` is a circular link.", source);
	return kettle_fail(err, KETTLE_EINVAL, "the file `%s` cannot be read: %s.", source, strerror(error));
}

/* Whether a descriptor's file lies below a folder: by the file's place now, not by what its path meant before or after. */
static bool
is_found_below(int fd, const char *folder)
{
	char link[64], real[PATH_MAX];
	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	ssize_t len = readlink(link, real, sizeof(real) - 1);
	if (len <= 0)
		return false;
	real[len] = '\0';
	return is_below(real, folder);
}

/* Finds a source on this machine: a descriptor of O_PATH, by which no device and no FIFO is opened. */
static int
source_find(
	const struct source_dir *source_dir, const char *source, unsigned reach, int *ret_fd, struct kettle_error *err)
{
	unsigned up = 0;
	AUTO_FREE char *inner = NULL;
	int rc = task_yml_source(source, &up, &inner, err);
	if (rc)
		return rc;
	AUTO_FREE char *base = folder_above(source_dir->dir, up),
				   *highest = folder_above(source_dir->dir, reach > up ? reach : up);
	AUTO_FREE char *path = path_join(base, inner);
	AUTO_FD int fd = open(path, O_PATH | O_CLOEXEC);
	if (fd < 0)
		return fail_find(source, err);
	if (!is_found_below(fd, highest))
		return kettle_fail(err, KETTLE_EINVAL,
			"the file `%s` is a link out of the task; name the file itself as the source, with ../ if necessary.",
			source);
	*ret_fd = STEAL_FD(fd);
	return 0;
}

int
source_dir_read(const struct source_dir *source_dir, const char *source, unsigned reach, size_t max, char **ret_data,
	size_t *ret_size, struct kettle_error *err)
{
	AUTO_FD int fd = -1;
	struct stat st;
	if (source_dir->archive)
		return read_archived(source_dir, source, max, ret_data, ret_size, err);
	int rc = source_find(source_dir, source, reach, &fd, err);
	if (rc)
		return rc;
	if (fstat(fd, &st) == 0 && !S_ISREG(st.st_mode))
		return kettle_fail(err, KETTLE_EINVAL, "`%s` is %s, not a regular file.", source,
			S_ISDIR(st.st_mode) ? "a folder" : "a device, a FIFO or a socket");
	rc = file_read_found(fd, source, max, ret_data, ret_size, err);
	if (rc == KETTLE_EACCES)
		return kettle_fail(err, rc, "the file `%s` cannot be read: permission denied.", source);
	return rc;
}

bool
source_dir_has(const struct source_dir *source_dir, const char *name)
{
	struct stat st;
	size_t size;
	AUTO_FREE char *path = source_dir->archive && !*source_dir->dir ? xstrdup(name) : path_join(source_dir->dir, name);
	if (source_dir->archive)
		return task_archive_find(source_dir->archive, path, &size) ||
			   task_archive_has_folder(source_dir->archive, path);
	return lstat(path, &st) == 0;
}

/* ---- listing ---- */

static void
list_archived(const struct source_dir *source_dir, const char *folder, json_t *names)
{
	AUTO_FREE char *path = !*folder           ? xstrdup(source_dir->dir)
						   : *source_dir->dir ? path_join(source_dir->dir, folder)
											  : xstrdup(folder);
	size_t len = strlen(path);
	for (size_t i = 0; i < task_archive_count(source_dir->archive); i++) {
		const char *file = task_archive_path(source_dir->archive, i);
		const char *rest = len == 0 ? file : file + len + 1;
		if ((len && (strncmp(file, path, len) != 0 || file[len] != '/')) || strchr(rest, '/'))
			continue;
		json_array_append_new(names, json_string(rest));
	}
}

static int
visible(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

static int
in_bytes(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

/* Keeps the entries of a type: S_IFREG, S_IFDIR. */
static void
list_folder(const struct source_dir *source_dir, const char *folder, mode_t type, json_t *names)
{
	struct dirent **entries = NULL;
	AUTO_FREE char *path = *folder ? path_join(source_dir->dir, folder) : xstrdup(source_dir->dir);
	int count = scandir(path, &entries, visible, in_bytes);
	for (int i = 0; i < count; i++) {
		AUTO_FREE char *file = path_join(path, entries[i]->d_name);
		struct stat st;
		bool wanted = stat(file, &st) == 0 && (st.st_mode & S_IFMT) == type;
		/* A name that is not UTF-8 can be neither shown nor requested. */
		if (wanted && i < LIST_MAX && utf8_valid(entries[i]->d_name, strlen(entries[i]->d_name)))
			json_array_append_new(names, json_string(entries[i]->d_name));
		free(entries[i]);
	}
	free(entries);
}

json_t *
source_dir_list(const struct source_dir *source_dir, const char *folder)
{
	json_t *names = json_array();
	if (source_dir->archive)
		list_archived(source_dir, folder, names);
	else
		list_folder(source_dir, folder, S_IFREG, names);
	return names;
}

/* The archive's files are in the order of their bytes, so those of a folder come one after the other. */
static void
list_archived_folders(const struct source_dir *source_dir, json_t *names)
{
	size_t len = strlen(source_dir->dir);
	for (size_t i = 0; i < task_archive_count(source_dir->archive); i++) {
		const char *file = task_archive_path(source_dir->archive, i);
		if (len && (strncmp(file, source_dir->dir, len) != 0 || file[len] != '/'))
			continue;
		const char *rest = len ? file + len + 1 : file, *slash = strchr(rest, '/');
		AUTO_FREE char *name = slash ? xstrndup(rest, (size_t)(slash - rest)) : NULL;
		const char *last = json_string_value(json_array_get(names, json_array_size(names) - 1));
		if (name && (!last || strcmp(last, name) != 0))
			json_array_append_new(names, json_string(name));
	}
}

json_t *
source_dir_folders(const struct source_dir *source_dir)
{
	json_t *names = json_array();
	if (source_dir->archive)
		list_archived_folders(source_dir, names);
	else
		list_folder(source_dir, "", S_IFDIR, names);
	return names;
}
