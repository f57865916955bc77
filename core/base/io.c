/* SPDX-License-Identifier: MIT */
/* Whole reads and writes, and the limit of open files. */
#include <config.h>

#include "base/io.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

int
write_all(int fd, const void *data, size_t size)
{
	const char *at = data;
	while (size) {
		ssize_t put = write(fd, at, size);
		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return -1;
		at += put;
		size -= (size_t)put;
	}
	return 0;
}

int
write_sparse(int fd, const char *data, size_t size)
{
	bool empty = size > 0 && data[0] == 0 && memcmp(data, data + 1, size - 1) == 0;
	return empty ? (lseek(fd, (off_t)size, SEEK_CUR) < 0 ? -1 : 0) : write_all(fd, data, size);
}

ssize_t
read_all(int fd, void *data, size_t size)
{
	size_t len = 0;
	while (len < size) {
		ssize_t got = read(fd, (char *)data + len, size - len);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -1;
		if (got == 0)
			break;
		len += (size_t)got;
	}
	return (ssize_t)len;
}

void
open_files_raise(void)
{
	struct rlimit files;
	if (getrlimit(RLIMIT_NOFILE, &files))
		return;
	files.rlim_cur = files.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &files);
}
