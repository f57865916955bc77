/* SPDX-License-Identifier: MIT */
/* Files: read bounded, written whole, removed without following links. */
#include <config.h>

#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/base.h"
#include "base/io.h"
#include "base/text.h"

/* The code of an errno. */
static int
code_of(int error)
{
	switch (error) {
	case ENOENT:
	case ENOTDIR:
		return KETTLE_ENOENT;
	case EACCES:
	case EPERM:
		return KETTLE_EACCES;
	case ELOOP:
		return KETTLE_EINVAL;
	}
	return KETTLE_EIO;
}

static int
fail_errno(struct kettle_error *err, const char *what, const char *path)
{
	int error = errno;
	return kettle_fail(err, code_of(error), "%s cannot be %s: %s.", path, what, strerror(error));
}

static int
fail_too_big(struct kettle_error *err, const char *name, size_t max)
{
	return kettle_fail(err, KETTLE_ETOOBIG, "%s is larger than the %zu bytes allowed.", name, max);
}

static int
fail_no_file(struct kettle_error *err, const char *name)
{
	return kettle_fail(err, KETTLE_EINVAL, "%s is not a regular file.", name);
}

static int
fail_changed(struct kettle_error *err, const char *name)
{
	return kettle_fail(err, KETTLE_EIO, "%s changed while it was read.", name);
}

static int
read_open(int fd, const char *name, size_t max, char **ret_data, size_t *ret_size, struct kettle_error *err)
{
	struct stat st;
	if (fstat(fd, &st) != 0)
		return fail_errno(err, "read", name);
	if (!S_ISREG(st.st_mode))
		return fail_no_file(err, name);
	if ((uint64_t)st.st_size > max)
		return fail_too_big(err, name, max);
	/* The size may be 0 (in /proc) or grow meanwhile: max limits the bytes that are read. */
	size_t cap = st.st_size ? (size_t)st.st_size + 1 : max + 1;
	AUTO_FREE char *data = xmalloc(cap + 1);
	ssize_t len = read_all(fd, data, cap);
	if (len < 0)
		return fail_errno(err, "read", name);
	if ((size_t)len > max)
		return fail_too_big(err, name, max);
	if (st.st_size && len > st.st_size)
		return fail_changed(err, name);
	data[len] = '\0';
	*ret_size = (size_t)len;
	*ret_data = STEAL(data);
	return 0;
}

/* Do not wait for the other end of a FIFO and do not acquire a terminal. */
#define READ_FLAGS (O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)

int
file_read(const char *path, size_t max, char **ret_data, size_t *ret_size, struct kettle_error *err)
{
	AUTO_FD int fd = open(path, READ_FLAGS);
	if (fd < 0)
		return fail_errno(err, "read", path);
	return read_open(fd, path, max, ret_data, ret_size, err);
}

int
file_open(const char *path, int *ret_fd, uint64_t *ret_size, struct kettle_error *err)
{
	AUTO_FD int fd = open(path, READ_FLAGS);
	struct stat st;
	if (fd < 0 || fstat(fd, &st) != 0)
		return fail_errno(err, "read", path);
	if (!S_ISREG(st.st_mode))
		return fail_no_file(err, path);
	*ret_size = (uint64_t)st.st_size;
	*ret_fd = STEAL_FD(fd);
	return 0;
}

int
file_read_piece(int fd, const char *name, uint64_t offset, void *data, size_t size, struct kettle_error *err)
{
	char *at = data;
	while (size) {
		ssize_t got = pread(fd, at, size, (off_t)offset);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return fail_errno(err, "read", name);
		if (got == 0)
			return fail_changed(err, name);
		at += got;
		offset += (uint64_t)got;
		size -= (size_t)got;
	}
	return 0;
}

int
file_read_at(int dir, const char *name, size_t max, char **ret_data, size_t *ret_size, struct kettle_error *err)
{
	AUTO_FD int fd = openat(dir, name, READ_FLAGS | O_NOFOLLOW);
	if (fd < 0 && errno == ELOOP)
		return kettle_fail(err, KETTLE_EINVAL, "%s is a symbolic link, not a regular file.", name);
	if (fd < 0)
		return fail_errno(err, "read", name);
	return read_open(fd, name, max, ret_data, ret_size, err);
}

int
file_read_found(int found, const char *name, size_t max, char **ret_data, size_t *ret_size, struct kettle_error *err)
{
	char path[64];
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", found);
	AUTO_FD int fd = open(path, READ_FLAGS);
	if (fd < 0)
		return fail_errno(err, "read", name);
	return read_open(fd, name, max, ret_data, ret_size, err);
}

int
file_read_stream(int fd, const char *name, size_t max, char **ret_data, size_t *ret_size, struct kettle_error *err)
{
	AUTO_BUF struct buf text = {0};
	char chunk[16u << 10];
	ssize_t n;
	while ((n = read(fd, chunk, sizeof(chunk))) > 0 || (n < 0 && errno == EINTR)) {
		if (n > 0)
			buf_add(&text, chunk, (size_t)n);
		if (text.len > max)
			return fail_too_big(err, name, max);
	}
	if (n < 0)
		return fail_errno(err, "read", name);
	*ret_size = text.len;
	*ret_data = buf_take(&text);
	return 0;
}

int
file_write(const char *path, const void *data, size_t size, mode_t mode, struct kettle_error *err)
{
	AUTO_FREE char *temporary = xasprintf("%s.XXXXXX", path);
	AUTO_FD int fd = mkostemp(temporary, O_CLOEXEC);
	if (fd < 0)
		return fail_errno(err, "written", path);
	/* On some file systems only close reports a full disk. */
	int rc = write_all(fd, data, size) || fchmod(fd, mode) || close(STEAL_FD(fd)) || rename(temporary, path);
	if (rc) {
		rc = fail_errno(err, "written", path);
		(void)unlink(temporary);
	}
	return rc;
}

static int
make_file_folder(const char *path, mode_t mode, struct kettle_error *err)
{
	struct stat st;
	if (mkdir(path, mode) == 0)
		return 0;
	int error = errno;
	/* On some file systems mkdir fails with EROFS or EACCES where EEXIST applies as well. */
	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
		return 0;
	if (error == EEXIST || error == ENOTDIR)
		return kettle_fail(err, KETTLE_ECONFLICT, "The folder %s cannot be created: a file has that name.", path);
	errno = error;
	return fail_errno(err, "made", path);
}

int
file_mkdirs(const char *path, mode_t mode, struct kettle_error *err)
{
	AUTO_FREE char *copy = xstrdup(path);
	for (char *slash = strchr(copy + (*copy != '\0'), '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		int rc = make_file_folder(copy, mode, err);
		*slash = '/';
		if (rc)
			return rc;
	}
	return make_file_folder(copy, mode, err);
}

char *
path_join(const char *dir, const char *name)
{
	size_t len = strlen(dir);
	const char *slash = len == 0 || dir[len - 1] == '/' ? "" : "/";
	return name[0] == '/' ? xstrdup(name) : xasprintf("%s%s%s", dir, slash, name);
}

static bool
part_is_plain(const char *part, size_t len)
{
	return len && !(len == 1 && part[0] == '.') && !(len == 2 && part[0] == '.' && part[1] == '.');
}

char *
path_above(const char *path, unsigned levels)
{
	char *above = xstrdup(path);
	while (levels-- > 0) {
		char *slash = strrchr(above, '/');
		*(slash ? slash : above) = '\0';
	}
	return above;
}

const char *
path_below(const char *path, const char *folder)
{
	size_t len = strlen(folder);
	return strncmp(path, folder, len) == 0 && (path[len] == '\0' || path[len] == '/') ? path + len : NULL;
}

int
path_check_inside(const char *path, struct kettle_error *err)
{
	size_t size = strlen(path);
	if (size == 0)
		return kettle_fail(err, KETTLE_EINVAL, "A path is empty; it must name a file below the folder.");
	if (size > PATH_INSIDE_MAX)
		return kettle_fail(
			err, KETTLE_EINVAL, "The path \"%.40s…\" is longer than the %d bytes allowed.", path, PATH_INSIDE_MAX);
	AUTO_BUF struct buf clean = {0};
	uint32_t invisible = utf8_find_invisible(path, size);
	if (utf8_sanitize(path, size, &clean) || strpbrk(path, "\n\t"))
		return kettle_fail(err, KETTLE_EINVAL, "The path \"%s\" contains characters that are not allowed in a path.",
			clean.data ? clean.data : "");
	if (invisible)
		return kettle_fail(err, KETTLE_EINVAL,
			"The path \"%s\" contains the invisible character U+%04X, which is not allowed in a path.", path,
			invisible);
	for (const char *part = path;; part++) {
		size_t len = strcspn(part, "/");
		if (!part_is_plain(part, len))
			return kettle_fail(err, KETTLE_EINVAL,
				"The path \"%s\" does not stay inside its folder; it must be relative, without empty parts, \".\" and "
				"\"..\".",
				path);
		part += len;
		if (*part == '\0')
			return 0;
	}
}

char *
path_program_dir(void)
{
	char path[4096];
	ssize_t len = readlink("/proc/self/exe", path, sizeof(path) - 1);
	if (len <= 0)
		return NULL;
	path[len] = '\0';
	char *slash = strrchr(path, '/');
	if (!slash)
		return NULL;
	*(slash == path ? slash + 1 : slash) = '\0';
	return xstrdup(path);
}

/*
 * Removing a tree that a hostile program may have made. It can be deeper than there are descriptors, stack or bytes in a
 * path. So nothing recurses: a folder that is not empty has its files removed and its folders moved up to the top,
 * where their turn comes. Every folder moves once at most, and two are open at a time.
 */
#define FOLDER_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

struct removal {
	int top;
	unsigned long moved; /* numbers the names at the top */
};

static bool
is_dots(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* chmod through a descriptor: by name it would follow a link that took the folder's place. */
static void
make_accessible(int dir, const char *name)
{
	AUTO_FD int fd = openat(dir, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	char path[64];
	if (fd < 0)
		return;
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	(void)chmod(path, 0700);
}

/* Opens a folder, made accessible where its owner took the rights away. */
static int
open_folder(int dir, const char *name)
{
	struct stat st;
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode) && (st.st_mode & 0700) != 0700)
		make_accessible(dir, name);
	return openat(dir, name, FOLDER_FLAGS);
}

/* 0: removed; 1: a folder that is not empty; -1 with errno. */
static int
remove_one(int dir, const char *name)
{
	if (unlinkat(dir, name, 0) == 0 || errno == ENOENT)
		return 0;
	/* EISDIR on Linux, EPERM in POSIX. */
	if (errno != EISDIR && errno != EPERM)
		return -1;
	int error = errno;
	if (unlinkat(dir, name, AT_REMOVEDIR) == 0)
		return 0;
	if (errno == ENOTEMPTY || errno == EEXIST)
		return 1;
	if (errno == ENOTDIR)
		errno = error;
	return -1;
}

/* Moves a folder to the top, under a name that is free there. */
static int
move_up(struct removal *removal, int dir, const char *name)
{
	char up[64];
	struct stat st;
	do
		(void)snprintf(up, sizeof(up), ".removed-%lu", removal->moved++);
	while (fstatat(removal->top, up, &st, AT_SYMLINK_NOFOLLOW) == 0);
	if (renameat(dir, name, removal->top, up) == 0)
		return 0;
	if (errno != EACCES)
		return -1;
	make_accessible(dir, name); /* moving changes its "..", which takes the right to write it */
	return renameat(dir, name, removal->top, up);
}

/* Empties a folder at the top; its folders that are not empty move there. */
static int
flatten(struct removal *removal, int dir, const char *name)
{
	int fd = open_folder(dir, name);
	if (fd < 0)
		return -1;
	AUTO_DIR DIR *folder = fdopendir(fd);
	if (!folder) {
		close(fd);
		return -1;
	}
	for (struct dirent *entry; (entry = readdir(folder));) {
		int rc = is_dots(entry->d_name) ? 0 : remove_one(fd, entry->d_name);
		if (rc < 0 || (rc > 0 && move_up(removal, fd, entry->d_name) != 0))
			return -1;
	}
	return 0;
}

/* One pass over the top. 0: it is empty; 1: there was something; -1 with errno. */
static int
pass(struct removal *removal, DIR *top)
{
	int rest = 0;
	rewinddir(top);
	for (struct dirent *entry; (entry = readdir(top));) {
		if (is_dots(entry->d_name))
			continue;
		rest = 1;
		int rc = remove_one(removal->top, entry->d_name);
		if (rc < 0 || (rc > 0 && flatten(removal, removal->top, entry->d_name) != 0))
			return -1;
	}
	return rest;
}

static int
empty_top(const char *path)
{
	int fd = open_folder(AT_FDCWD, path);
	if (fd < 0)
		return -1;
	AUTO_DIR DIR *top = fdopendir(fd);
	if (!top) {
		close(fd);
		return -1;
	}
	struct removal removal = {.top = fd};
	int rc;
	do
		rc = pass(&removal, top);
	while (rc > 0);
	return rc;
}

int
file_remove_tree(const char *path, struct kettle_error *err)
{
	int rc = remove_one(AT_FDCWD, path);
	if (rc > 0)
		rc = empty_top(path);
	if (rc == 0 && rmdir(path) != 0 && errno != ENOENT && errno != ENOTDIR)
		rc = -1;
	if (rc == 0 || errno == ENOENT)
		return 0;
	int error = errno;
	return kettle_fail(err, error == EACCES || error == EPERM ? KETTLE_EACCES : KETTLE_EIO, "%s cannot be removed: %s.",
		path, strerror(error));
}
