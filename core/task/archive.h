/* SPDX-License-Identifier: MIT */
/* Zip archives as they come from outside: unpacked into memory within limits, and written. */
#pragma once

#include <jansson.h>
#include <kettle/error.h>
#include <stdbool.h>
#include <stddef.h>

#define TASK_ARCHIVE_MAX_PACKED (64u << 20) /* bytes of the archive itself */
#define TASK_ARCHIVE_MAX_ENTRIES 5000       /* folders and ignored ones included */
#define TASK_ARCHIVE_MAX_FILE (32u << 20)   /* bytes of one file */
#define TASK_ARCHIVE_MAX_TOTAL (128u << 20) /* bytes of all files */
#define TASK_ARCHIVE_MAX_RATIO 100          /* all files to the archive, beyond a free first MiB */

/* The regular files of an archive, by name. Read-only once it is made: every function may read it. [any] */
struct task_archive;

/*
 * Unpacks a zip. Every name is a relative path of UTF-8 that stays inside (file.h: path_check_inside), and occurs once;
 * folders need no entry. `__MACOSX` and `.DS_Store` are skipped, an archive inside the archive is a file like others.
 * label precedes messages ("X.zip"). EINVAL: damaged, encrypted, no zip, empty, a link, a device, a name that is
 * absolute, leaves the archive, is not UTF-8 or occurs twice; ETOOBIG: over a limit. [any]
 */
int task_archive_read(
	const char *label, const void *data, size_t size, struct task_archive **ret_archive, struct kettle_error *err);
/* The same for a repository; links and special files are left out, so a task that needs one lacks it. [any] */
int task_archive_read_repository(
	const char *label, const void *data, size_t size, struct task_archive **ret_archive, struct kettle_error *err);
void task_archive_free(struct task_archive *archive);

/* The archive's name in messages. */
const char *task_archive_label(const struct task_archive *archive);
/* The single folder at its top that holds everything, or "". New string. */
char *task_archive_top(const struct task_archive *archive);
/* The files by name, in the order of their bytes. */
size_t task_archive_count(const struct task_archive *archive);
const char *task_archive_path(const struct task_archive *archive, size_t index);
/* The contents of a file, borrowed, a NUL behind them; NULL: there is none of that name. */
const char *task_archive_find(const struct task_archive *archive, const char *path, size_t *ret_size);
/* Whether a file lies below that path. */
bool task_archive_has_folder(const struct task_archive *archive, const char *path);

/*
 * Packs files (object: path → contents, see contents.h) below the folder `top`. The same files give the same bytes,
 * whatever the time, the user and the order. New bytes. EINVAL: contents that are none; EIO. [any]
 */
int task_archive_write(
	const char *top, const json_t *files, char **ret_data, size_t *ret_size, struct kettle_error *err);
