/* SPDX-License-Identifier: MIT */
/* Tasks: read from a folder, checked, hashed. Pure but for reading files. */
#ifndef KETTLE_TASK_H
#define KETTLE_TASK_H

#include "language.h"

#include <jansson.h>
#include <kettle/error.h>

#define TASK_MAX_FILES 500
#define TASK_MAX_BYTES (32u << 20) /* of all files together */

/*
 * A bundle is a task that stands for itself:
 *   {"name": folder's name, "yml": text of task.yml, "task": checked and completed task.yml,
 *    "files": {name in the job's folder → contents}, "submission": the name that @SUBMISSION@ has there,
 *    "templates": {language → {"file_name", "text"}}, "remarks": [sentence…], "hash": sha256 of what a run depends on}
 */

/*
 * Reads a task folder (or the path of its task.yml). Sources may leave the folder by ../ as the format allows, but not
 * by links out of the folder's parent set; sizes are bounded. Errors name file and line. Blocking. [any]
 */
int task_read(const struct languages *languages, const char *path, json_t **ret_bundle, struct kettle_error *err);
/*
 * Checks a bundle that came from elsewhere (a client sent it), trusting nothing in it: `task` and `hash` are made again
 * from `yml` and `files`. Returns a new, completed bundle. [any]
 */
int task_check_bundle(
	const struct languages *languages, const json_t *bundle, json_t **ret_bundle, struct kettle_error *err);

/*
 * The prepared run steps of a job (see language.h), in the order in which they run. mode ranked: test, benchmark,
 * leaderboard with the public seeds, then the same with the secret seed; other modes: the public run alone (profile:
 * one for each benchmark). seed: decimal text of the secret, used only where a run is secret. [any]
 */
int task_runs(const json_t *task, const char *mode, const char *seed, json_t **ret_runs, struct kettle_error *err);
/*
 * The whole plan of a job: runs, the language's plan, checked against the plan schema's rules that concern a language.
 * code: text of the submission; device: its configuration with "name". [any]
 */
int task_plan(const struct languages *languages, const json_t *bundle, const char *code, const char *mode,
	const json_t *device, const char *seed, json_t **ret_plan, struct kettle_error *err);

#endif
