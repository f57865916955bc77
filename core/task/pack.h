/* SPDX-License-Identifier: MIT */
/* A self-contained task: everything that it names is inside one folder. Blocking. */
#ifndef KETTLE_TASK_PACK_H
#define KETTLE_TASK_PACK_H

#include "judge/language.h"

#include <jansson.h>
#include <kettle/error.h>
#include <stdbool.h>

/*
 * The files of a folder that means the same as the task at `path`, in whichever form that is, and needs nothing beside
 * it: {"name", "hash": of what a run depends on, as before, "files": {path → contents}}. What lies in the task's folder
 * keeps its place there; what is reached by ../ comes inside, and task.yml names it there, unchanged besides. With
 * solutions, what lies in solutions/correct and solutions/wrong comes too. Errors as task_read_as. [any]
 */
int task_pack(const struct languages *languages, const char *path, const char *lang, bool solutions, json_t **ret_pack,
	struct kettle_error *err);

/*
 * The same of a single reference file as it is, without what its language makes of it: "files" has it alone, and
 * solutions. "reference" is its name there. [any]
 */
int task_pack_reference(
	const struct languages *languages, const char *path, bool solutions, json_t **ret_pack, struct kettle_error *err);

/* The pack as a zip that holds it in a folder of the task's name. New bytes. EIO. [any] */
int task_pack_zip(const json_t *pack, char **ret_data, size_t *ret_size, struct kettle_error *err);

#endif
