/* SPDX-License-Identifier: MIT */
/* Files: read bounded, written whole, removed without following links. All [any], all blocking. */
#pragma once

#include <kettle/error.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define PATH_INSIDE_MAX 200 /* bytes of a relative path that comes from outside */

/*
 * Reads a regular file of at most max bytes; new bytes, NUL behind them. ENOENT, EACCES, ETOOBIG, EINVAL (no regular
 * file), EIO. Never waits for a FIFO or a device.
 */
int file_read(const char *path, size_t max, char **ret_data, size_t *ret_size, struct kettle_error *err);
/* The same for a name in a folder's descriptor, without following a link in the last component (EINVAL). */
int file_read_at(int dir, const char *name, size_t max, char **ret_data, size_t *ret_size, struct kettle_error *err);
/* The same for the file of an O_PATH descriptor, even if its path leads elsewhere by now; name: for messages. */
int file_read_found(
	int found, const char *name, size_t max, char **ret_data, size_t *ret_size, struct kettle_error *err);
/* Reads a stream such as standard input to its end, at most max bytes; new bytes, NUL behind them. ETOOBIG, EIO. */
int file_read_stream(int fd, const char *name, size_t max, char **ret_data, size_t *ret_size, struct kettle_error *err);
/* Opens a regular file to be read in pieces; its size as it is now. ENOENT, EACCES, EINVAL, EIO. */
int file_open(const char *path, int *ret_fd, uint64_t *ret_size, struct kettle_error *err);
/* Reads exactly these bytes of a file. EIO: it cannot be read, or ends before. */
int file_read_piece(int fd, const char *name, uint64_t offset, void *data, size_t size, struct kettle_error *err);
/*
 * Writes to a temporary name beside it, then renames: readers see it whole or not at all. Mode is exact (no umask).
 * Not flushed to the disk. ENOENT, EACCES, EIO.
 */
int file_write(const char *path, const void *data, size_t size, mode_t mode, struct kettle_error *err);
/* mkdir -p; existing folders keep their mode. EACCES, ECONFLICT (something else is there), EIO. */
int file_mkdirs(const char *path, mode_t mode, struct kettle_error *err);
/*
 * rm -rf without following links; ENOENT is success. However deep the tree is, it takes two descriptors and no stack.
 * Folders that their owner made unreadable are made readable first. EACCES, EIO.
 */
int file_remove_tree(const char *path, struct kettle_error *err);
/* Joins with one slash; an absolute name stays alone. New string. */
char *path_join(const char *dir, const char *name);
/* A path without its last `levels` parts; "" where it has no more. New string. */
char *path_above(const char *path, unsigned levels);
/* The part of a path after `folder`: "" if equal, "/…" if the path lies below it; NULL: neither. Compares text only. */
const char *path_below(const char *path, const char *folder);
/*
 * Whether a relative path stays below where it starts: not empty, at most PATH_INSIDE_MAX bytes of UTF-8 without
 * control characters, no leading slash, no part that is empty, "." or "..". EINVAL.
 */
int path_check_inside(const char *path, struct kettle_error *err);
/* The folder that holds the running program; new string; NULL: /proc is missing. */
char *path_program_dir(void);
