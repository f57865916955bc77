/* SPDX-License-Identifier: MIT */
/* The place of a task: a folder of this machine, or one inside an archive, and bounded reads from it. */
#pragma once

#include "task/archive.h"

#include <stdbool.h>

/* Zero-initialise; source_dir_free at the end. */
struct source_dir {
	const struct task_archive *archive; /* borrowed; NULL: a folder of this machine */
	char *dir;                          /* its real path, or its path in the archive ("": the top) */
	char *shown;                        /* its name in messages: its path as given ("X.zip: sort" in an archive) */
};
void source_dir_free(struct source_dir *source_dir);
#define AUTO_SOURCE_DIR __attribute__((cleanup(source_dir_free)))

/* A folder of this machine, by any path. ENOENT, EACCES, EINVAL (no folder). Blocking. [any] */
int source_dir_folder(const char *path, struct source_dir *ret_dir, struct kettle_error *err);
/* A folder of an archive. [any] */
struct source_dir source_dir_archived(const struct task_archive *archive, const char *dir);
/*
 * A folder below a place, by a relative name; leading ../ are allowed as in a source. ENOENT: there is none; EINVAL: a
 * link of this machine leads above the folder from which the name goes down. Blocking. [any]
 */
int source_dir_below(
	const struct source_dir *source_dir, const char *relative, struct source_dir *ret_dir, struct kettle_error *err);
/* The name of a file in it for messages: "first/task.yml", "X.zip: sort/task.yml". New string. */
char *source_dir_label(const struct source_dir *source_dir, const char *file);
/* The last part of its path; "" for the top of an archive. Borrowed. */
const char *source_dir_name(const struct source_dir *source_dir);

/*
 * Reads a source (task_yml_source: ../ may lead out of the folder) of at most max bytes. reach: how many levels up the
 * task's sources go; a link of this machine must not lead above that, also one that changes meanwhile. In an archive ../
 * ends at its top. The sentence has no file and line in front. ENOENT, EINVAL (no regular file, a link out of it), EACCES, ETOOBIG. Blocking.
 * [any]
 */
int source_dir_read(const struct source_dir *source_dir, const char *source, unsigned reach, size_t max,
	char **ret_data, size_t *ret_size, struct kettle_error *err);
/* Whether something of that name lies in it; links are not followed. */
bool source_dir_has(const struct source_dir *source_dir, const char *name);
/* The names of the regular files in a folder below it ("solutions/correct"), in order; [] where there is none. */
json_t *source_dir_list(const struct source_dir *source_dir, const char *folder);
/* The names of the folders in it, in order. */
json_t *source_dir_folders(const struct source_dir *source_dir);
