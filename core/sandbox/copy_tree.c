/* SPDX-License-Identifier: MIT */
/*
 * Copies folders within init. Nothing here allocates. Every file is made by a call that fails if the name is taken: the
 * existing file stays, as in an overlay.
 */
#include <config.h>

#include "sandbox/copy_tree.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/base.h"

#define COPY_DEPTH_MAX 64
#define COPY_DENTS_SIZE 2048
#define COPY_CHUNK (1u << 30)

struct copy_dirent {
	uint64_t ino;
	int64_t off;
	uint16_t reclen;
	uint8_t type;
	char name[];
};

static int copy_entry(int from, int to, const char *name, int owner, int depth);

static int
copy_file(int from, int to, const char *name, const struct stat *st, int owner)
{
	AUTO_FD int in = openat(from, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	if (in < 0)
		return -1;
	AUTO_FD int out = openat(to, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (out < 0)
		return errno == EEXIST ? 0 : -1;
	ssize_t count;
	do
		count = sendfile(out, in, NULL, COPY_CHUNK);
	while (count > 0);
	/* Build tools compare the times. */
	const struct timespec times[] = {st->st_atim, st->st_mtim};
	if (count < 0 || fchmod(out, (st->st_mode & 0777) | 0600) || futimens(out, times)) {
		int error = errno;
		(void)unlinkat(to, name, 0);
		errno = error;
		return -1;
	}
	return owner >= 0 ? fchown(out, (uid_t)owner, (gid_t)owner) : 0;
}

static int
copy_link(int from, int to, const char *name, int owner)
{
	char target[PATH_MAX];
	ssize_t len = readlinkat(from, name, target, sizeof(target) - 1);
	if (len < 0)
		return -1;
	target[len] = '\0';
	if (symlinkat(target, to, name))
		return errno == EEXIST ? 0 : -1;
	return owner >= 0 ? fchownat(to, name, (uid_t)owner, (gid_t)owner, AT_SYMLINK_NOFOLLOW) : 0;
}

static int
copy_folder(int from, int to, int owner, int depth)
{
	_Alignas(8) char dents[COPY_DENTS_SIZE];
	long size;
	if (depth > COPY_DEPTH_MAX) {
		errno = ELOOP;
		return -1;
	}
	while ((size = syscall(SYS_getdents64, from, dents, sizeof(dents))) > 0)
		for (long at = 0; at < size;) {
			const struct copy_dirent *entry = (const struct copy_dirent *)(dents + at);
			at += entry->reclen;
			if (strcmp(entry->name, ".") && strcmp(entry->name, "..") &&
				copy_entry(from, to, entry->name, owner, depth))
				return -1;
		}
	return size < 0 ? -1 : 0;
}

static int
copy_subfolder(int from, int to, const char *name, const struct stat *st, int owner, int depth)
{
	struct stat there;
	if (mkdirat(to, name, 0700) &&
		(errno != EEXIST || fstatat(to, name, &there, AT_SYMLINK_NOFOLLOW) || !S_ISDIR(there.st_mode)))
		return errno == EEXIST ? 0 : -1;
	AUTO_FD int in = openat(from, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	AUTO_FD int out = openat(to, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (in < 0 || out < 0 || copy_folder(in, out, owner, depth + 1))
		return -1;
	if (fchmod(out, (st->st_mode & 0777) | 0700))
		return -1;
	return owner >= 0 ? fchown(out, (uid_t)owner, (gid_t)owner) : 0;
}

static int
copy_entry(int from, int to, const char *name, int owner, int depth)
{
	struct stat st;
	if (fstatat(from, name, &st, AT_SYMLINK_NOFOLLOW))
		return -1;
	switch (st.st_mode & S_IFMT) {
	case S_IFREG:
		return copy_file(from, to, name, &st, owner);
	case S_IFLNK:
		return copy_link(from, to, name, owner);
	case S_IFDIR:
		return copy_subfolder(from, to, name, &st, owner, depth);
	}
	errno = EINVAL;
	return -1;
}

int
copy_tree(const char *source, const char *target, int owner)
{
	AUTO_FD int from = open(source, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	AUTO_FD int to = open(target, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return from < 0 || to < 0 ? -1 : copy_folder(from, to, owner, 0);
}
