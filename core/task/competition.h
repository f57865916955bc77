/* SPDX-License-Identifier: MIT */
/* Competition files: a name, a deadline and a list of problems, each of them a task's folder. Blocking. */
#ifndef KETTLE_TASK_COMPETITION_H
#define KETTLE_TASK_COMPETITION_H

#include "judge/language.h"
#include "task/source_dir.h"

#include <jansson.h>
#include <kettle/error.h>

#define COMPETITION_MAX_BYTES (48u << 20) /* of all problems of all sets together, as JSON: they travel in one line */

/*
 * Reads one competition file and the tasks that it names (folders, or single reference files, seen from it; in an
 * archive ../ ends at its top):
 *   {"name", "file", "description", "deadline": as written or null,
 *    "problems": [{"name", "directory", "deadline": its own, else the competition's, or null, "gpus": [device],
 *        "bundle": task (task.h) or null, "error": sentence or null}]}
 * A problem whose task is wrong has its sentence; the others are read all the same. Errors of the file itself name it
 * and the line: unknown keys with the nearest known one, a deadline that is none, a name that is there twice; *ret_set
 * is then the set without problems and with the sentence as "error", called as the file where its name cannot be read.
 * New reference, always. [any]
 */
int competition_read(const struct languages *languages, const struct source_dir *source_dir, const char *file,
	json_t **ret_set, struct kettle_error *err);
/*
 * All sets of a path (task_form.h), or the one whose name, or whose file's, is `set`. New array. A file among several that is wrong is a
 * set with an "error"; the only one, or the one that was named, is an error. ETOOBIG: over COMPETITION_MAX_BYTES; EINVAL:
 * there is none there; ENOENT: none of that name. [any]
 */
int competition_read_all(
	const struct languages *languages, const char *path, const char *set, json_t **ret_sets, struct kettle_error *err);
/* The same of a folder (task_form_place_competitions); `shown` of it is what messages call it. [any] */
int competition_read_folder(const struct languages *languages, const struct source_dir *source_dir, const char *set,
	json_t **ret_sets, struct kettle_error *err);
/*
 * The same of the archive of a repository, in which one folder at the top does not count. folder: where its competition files are;
 * NULL: at the top. ENOENT: there is no such folder. [any]
 */
int competition_read_repository(const struct languages *languages, const struct task_archive *archive,
	const char *folder, const char *set, json_t **ret_sets, struct kettle_error *err);
/* A deadline as such a file has it, in ms since 1970; NULL and empty text: 0. EINVAL. [any] */
int competition_deadline(const char *text, int64_t *ret_ms, struct kettle_error *err);

#endif
