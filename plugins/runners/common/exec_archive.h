/* SPDX-License-Identifier: MIT */
/* The archive of kettle-exec (`make portable-exec`), which runners copy to remote machines and know by its digest. */
#pragma once

#include <jansson.h>
#include <kettle/error.h>
#include <stddef.h>

#define EXEC_ARCHIVE_NAME "kettle-exec.tar.xz"
#define EXEC_ARCHIVE_MAX (16u << 20) /* bytes */

/* The path of the archive: the section's option `exec_archive`, else the installed one; it may not exist. New string. */
char *exec_archive_path(const json_t *section);
/*
 * Reads the archive: new bytes and their SHA-256. ENOENT: it does not exist, and the sentence says how to make it;
 * EACCES, EIO, ETOOBIG; EINVAL: it is no xz archive. [any, blocks]
 */
int exec_archive_read(
	const char *path, char **ret_data, size_t *ret_size, char ret_digest[65], struct kettle_error *err);
