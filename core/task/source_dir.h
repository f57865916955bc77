/* SPDX-License-Identifier: MIT */
/* Where a task lies: a folder of this machine, or one inside of an archive. What may be read from there, and how. */
#ifndef KETTLE_TASK_PLACE_H
#define KETTLE_TASK_PLACE_H

#include "task/archive.h"

#include <stdbool.h>

/* Zero-initialise; task_place_free at the end. */
struct task_place {
	const struct task_archive *archive; /* borrowed; NULL: a folder of this machine */
	char *dir;                          /* its real path, or its path in the archive ("": the top) */
};
void task_place_free(struct task_place *place);
#define AUTO_TASK_PLACE __attribute__((cleanup(task_place_free)))

/* A folder of this machine, by any path. ENOENT, EACCES, EINVAL (no folder). Blocking. [any] */
int task_place_folder(const char *path, struct task_place *ret_place, struct kettle_error *err);
/* A folder of an archive. ENOMEM. [any] */
int task_place_archived(
	const struct task_archive *archive, const char *dir, struct task_place *ret_place, struct kettle_error *err);
/*
 * A folder below a place, for one that names it relatively; leading ../ are allowed as in a source. What is not there
 * is ENOENT; a link of this machine is followed. Blocking. [any]
 */
int task_place_below(
	const struct task_place *place, const char *relative, struct task_place *ret_place, struct kettle_error *err);
/* The last part of its path; "" for the top of an archive. Borrowed. */
const char *task_place_name(const struct task_place *place);

/*
 * Reads a source (task_yml_source: ../ may lead out of the folder) of at most max bytes. reach: how many levels up the
 * task's sources go; a link of this machine must not lead above that. In an archive ../ ends at its top. The sentence
 * has no file and line in front. ENOENT, EINVAL (no regular file, a link out of it), EACCES, ETOOBIG, ENOMEM. Blocking.
 * [any]
 */
int task_place_read(const struct task_place *place, const char *source, unsigned reach, size_t max, char **ret_data,
	size_t *ret_size, struct kettle_error *err);
/* Whether something of that name lies in it; links are not followed. */
bool task_place_has(const struct task_place *place, const char *name);
/* The names of the regular files in a folder below it ("solutions/correct"), in order; [] where there is none. */
int task_place_list(const struct task_place *place, const char *folder, json_t **ret_names, struct kettle_error *err);

#endif
