/* SPDX-License-Identifier: MIT */
/* Competition files: a name, a deadline and a list of problems, each of them a task's folder. Blocking. */
#pragma once

#include "judge/language.h"
#include "task/source_dir.h"

#include <jansson.h>
#include <kettle/error.h>

#define COMPETITION_MAX_BYTES (48u << 20) /* of all problems of all sets together, as JSON: they travel in one line */

/*
 * All sets of a path (task_form.h), or the one whose name or file name is `set`. New array. If one of several files is
 * wrong, its set has an "error"; if it is the only one or was named, the call fails. ETOOBIG: over
 * COMPETITION_MAX_BYTES; EINVAL: there is none there; ENOENT: none of that name. [any]
 */
int competition_read_all(
	const struct languages *languages, const char *path, const char *set, json_t **ret_sets, struct kettle_error *err);
/* The same for a folder (task_form_place_competitions); its `shown` is its name in messages. [any] */
int competition_read_folder(const struct languages *languages, const struct source_dir *source_dir, const char *set,
	json_t **ret_sets, struct kettle_error *err);
/*
 * The same for the archive of a repository; a single folder at its top does not count. folder: where its competition
 * files are; NULL: at the top. ENOENT: there is no such folder. [any]
 */
int competition_read_repository(const struct languages *languages, const struct task_archive *archive,
	const char *folder, const char *set, json_t **ret_sets, struct kettle_error *err);
/* A deadline as such a file has it, in ms since 1970; NULL and empty text: 0. EINVAL. [any] */
int competition_deadline(const char *text, int64_t *ret_ms, struct kettle_error *err);
