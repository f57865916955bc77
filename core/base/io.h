/* SPDX-License-Identifier: MIT */
/* Whole reads and writes, and the limit of open files. All [any]. */
#pragma once

#include <stddef.h>
#include <sys/types.h>

/* Writes everything, in as many calls as it takes. 0, or -1 with errno; then a part may be written. */
int write_all(int fd, const void *data, size_t size);
/* The same, but writes blocks of zeros as holes, which take no room on the disk. A hole at the end needs ftruncate. */
int write_sparse(int fd, const char *data, size_t size);
/* Reads until the end of the file, at most size bytes. The number of bytes, or -1 with errno. */
ssize_t read_all(int fd, void *data, size_t size);
/* Raises this process's limit of open files as far as it may go. */
void open_files_raise(void);
