/* SPDX-License-Identifier: MIT */
/* Reads what lies in a task's folder. Blocking. */
#ifndef KETTLE_TASK_FOLDER_H
#define KETTLE_TASK_FOLDER_H

#include "language.h"

#include <jansson.h>
#include <kettle/error.h>

/*
 * Reads task.yml and every file that it names into a bundle as a client would send it: {"name", "yml", "files",
 * "templates", "remarks"}; `remarks` holds what only the folder can tell. A link may lead anywhere within the highest
 * folder that the task's sources reach by ../, not out of it. Errors name file and line. [any]
 */
int task_folder_load(
	const struct languages *languages, const char *path, json_t **ret_bundle, struct kettle_error *err);

#endif
