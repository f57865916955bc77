/* SPDX-License-Identifier: MIT */
/* Writes the files of an answer. */
#include <config.h>

#include "cli/actions/actions.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base.h"
#include "base/contents.h"
#include "base/file.h"
#include "base/io.h"

#define NEW_FILE (O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC)
#define A_FOLDER (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

int
save_fail(const char *path, int number, struct kettle_error *err)
{
	if (number == EEXIST)
		return kettle_fail(
			err, KETTLE_ECONFLICT, "`%s` already exists and is not overwritten: choose another name.", path);
	return kettle_fail(err,
		number == EACCES                        ? KETTLE_EACCES
		: number == ENOENT || number == ENOTDIR ? KETTLE_EINVAL
												: KETTLE_EIO,
		"`%s` cannot be written: %s.", path, strerror(number));
}

/* Writes a new file below dir; shown: its path in messages. */
static int
save_at(int dir, const char *name, const char *shown, const void *data, size_t size, struct kettle_error *err)
{
	AUTO_FD int fd = openat(dir, name, NEW_FILE, 0666);
	if (fd >= 0 && write_all(fd, data, size) == 0)
		return 0;
	int number = errno;
	if (fd >= 0)
		unlinkat(dir, name, 0);
	return save_fail(shown, number, err);
}

int
save_file(const char *path, const void *data, size_t size, struct kettle_error *err)
{
	return save_at(AT_FDCWD, path, path, data, size, err);
}

/* Opens the folder of a path below dir; makes missing parts, follows no link. Cuts path; *ret_name: its last part. */
static int
open_parent(int dir, char *path, char **ret_name)
{
	int at = fcntl(dir, F_DUPFD_CLOEXEC, 0);
	char *slash;
	while (at >= 0 && (slash = strchr(path, '/'))) {
		*slash = '\0';
		bool made = mkdirat(at, path, 0777) == 0 || errno == EEXIST;
		int below = made ? openat(at, path, A_FOLDER) : -1;
		int number = errno;
		close(at);
		errno = number;
		at = below;
		path = slash + 1;
	}
	*ret_name = path;
	return at;
}

/* Opens the folder of a path below dir; no folder on the way may be a link. Cuts the path like open_parent. */
static int
open_folder_below(const char *dir, char *below, char **ret_name)
{
	AUTO_FD int top = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return top < 0 ? -1 : open_parent(top, below, ret_name);
}

int
save_open_below(const char *dir, const char *below, int flags)
{
	AUTO_FREE char *parts = xstrdup(below);
	char *name = NULL;
	AUTO_FD int parent = open_folder_below(dir, parts, &name);
	if (parent < 0)
		return -1;
	return openat(parent, name, O_WRONLY | O_CLOEXEC | O_NOFOLLOW | flags, 0644);
}

void
save_remove_below(const char *dir, const char *below)
{
	AUTO_FREE char *parts = xstrdup(below);
	char *name = NULL;
	AUTO_FD int parent = open_folder_below(dir, parts, &name);
	if (parent >= 0)
		(void)unlinkat(parent, name, 0);
}

static int
write_below(int dir, const char *name, const json_t *contents, struct kettle_error *err)
{
	AUTO_FREE char *data = NULL, *path = xstrdup(name);
	char *last = NULL;
	size_t size = 0;
	int rc = contents_bytes(contents, &data, &size, err);
	if (rc < 0)
		return rc;
	AUTO_FD int parent = open_parent(dir, path, &last);
	return parent < 0 ? save_fail(name, errno, err) : save_at(parent, last, name, data, size, err);
}

int
save_folder(const char *path, const json_t *files, struct kettle_error *err)
{
	if (json_object_size(files) > SAVE_MAX_FILES)
		return kettle_fail(err, KETTLE_EINVAL, "There are %zu files; at most %d are written.", json_object_size(files),
			SAVE_MAX_FILES);
	json_object_each(files, name, contents)
		if (path_check_inside(name, NULL) < 0)
			return kettle_fail(
				err, KETTLE_EINVAL, "`%.200s` is not a path inside the folder: nothing is written.", name);
	if (mkdir(path, 0777) != 0)
		return save_fail(path, errno, err);
	AUTO_FD int dir = open(path, A_FOLDER);
	int rc = dir < 0 ? save_fail(path, errno, err) : 0;
	json_object_each(files, name, contents)
		rc = rc ? rc : write_below(dir, name, contents, err);
	if (rc < 0)
		(void)file_remove_tree(path, NULL);
	return rc;
}
