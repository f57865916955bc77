/* SPDX-License-Identifier: MIT */
/* Reads a task as a client would send it: from the folder of its task.yml, on this machine or in an archive, or from a
 * single reference file. Blocking. */
#pragma once

#include "judge/language.h"
#include "task/source_dir.h"

#include <jansson.h>
#include <kettle/error.h>

/*
 * Reads task.yml and every file that it names into a bundle as a client would send it: {"name", "yml", "files",
 * "templates", "remarks"}; `remarks` holds remarks that only the folder allows. A link may lead anywhere within the
 * highest folder that the task's sources reach by ../, not out of it. name: the task's; "task" takes the place of one
 * that is not valid in messages, in file names and on other machines. Errors name file and line. [any]
 */
int task_folder_load(const struct languages *languages, const struct source_dir *source_dir, const char *name,
	json_t **ret_bundle, struct kettle_error *err);

/*
 * The same for a single reference file, the older form of a task, of which the language makes a task. Pure. name: the
 * file's; lang: the requested language, or NULL: the language that takes files with this ending. EINVAL: no language
 * takes it, or the language refuses it with a reason; EUNAVAIL: a language of that name has no such form. [any]
 */
int task_single_load(const struct languages *languages, const char *name, const char *text, size_t size,
	const char *lang, json_t **ret_bundle, struct kettle_error *err);

/*
 * Names of the languages among which is to choose for a reference file of that name, those that take it by default first;
 * empty where its ending fits one language alone, which takes it by default, or none. New reference. [any]
 */
json_t *task_single_languages(const struct languages *languages, const char *name);
