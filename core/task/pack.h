/* SPDX-License-Identifier: MIT */
/* A self-contained task: everything that it names is inside one folder. Blocking. */
#pragma once

#include "judge/language.h"

#include <jansson.h>
#include <kettle/error.h>
#include <stdbool.h>

/*
 * The files of a self-contained folder with the same task as the one at `path`, which may have any form: {"name",
 * "hash": of what a run depends on, as before, "files": {path → contents}}. Files in the task's folder keep their
 * places; files reached by ../ come inside, and task.yml changes only in naming them there. With solutions, the files
 * in solutions/correct and solutions/wrong come too. Errors as task_read_as. [any]
 */
int task_pack(const struct languages *languages, const char *path, const char *lang, bool solutions, json_t **ret_pack,
	struct kettle_error *err);

/*
 * The same for a single reference file, without the files that its language makes of it: "files" has only it and its
 * solutions. "reference" is its name there. [any]
 */
int task_pack_reference(
	const struct languages *languages, const char *path, bool solutions, json_t **ret_pack, struct kettle_error *err);

/* The pack as a zip with one folder of the task's name. New bytes. EIO. [any] */
int task_pack_zip(const json_t *pack, char **ret_data, size_t *ret_size, struct kettle_error *err);
