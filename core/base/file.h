/* SPDX-License-Identifier: MIT */
/* Files: read bounded, written whole, removed without following links. All [any], all blocking. */
#ifndef KETTLE_FILE_H
#define KETTLE_FILE_H

#include <kettle/error.h>
#include <stddef.h>
#include <sys/types.h>

/* Reads a regular file of at most max bytes; new bytes, NUL behind them. ENOENT, ETOOBIG, EINVAL (no regular file),
 * EIO. */
int file_read(const char *path, size_t max, char **ret_data, size_t *ret_size, struct kettle_error *err);
/* The same below a folder's descriptor, without following a link in the last component. */
int file_read_at(int dir, const char *name, size_t max, char **ret_data, size_t *ret_size, struct kettle_error *err);
/* Writes to a temporary name beside it, then renames: whole or not at all. */
int file_write(const char *path, const void *data, size_t size, mode_t mode, struct kettle_error *err);
/* mkdir -p. */
int file_mkdirs(const char *path, mode_t mode, struct kettle_error *err);
/* rm -rf without following links; ENOENT is success. */
int file_remove_tree(const char *path, struct kettle_error *err);
/* Joins with one slash; new string. */
char *path_join(const char *dir, const char *name);
/* Whether a relative path stays below where it starts: not empty, no "..", no leading slash, no empty part, at most 200
 * bytes. */
int path_check_inside(const char *path, struct kettle_error *err);
/* The folder that holds the running program; new string. */
char *path_program_dir(void);

#endif
