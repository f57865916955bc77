/* SPDX-License-Identifier: MIT */
/* A single reference file, the older form of a task: the language makes a task of it. Pure. */
#ifndef KETTLE_TASK_SINGLE_FILE_H
#define KETTLE_TASK_SINGLE_FILE_H

#include "judge/language.h"

#include <jansson.h>
#include <kettle/error.h>

/*
 * A bundle (task.h, as a client would send it) of a reference file. name: the file's; lang: the language that was asked
 * for, or NULL: the one whose references end so. EINVAL: no language takes it, or the language says what is wrong with
 * it; EUNAVAIL: a language of that name has no such form. [any]
 */
int task_single_load(const struct languages *languages, const char *name, const char *text, size_t size,
	const char *lang, json_t **ret_bundle, struct kettle_error *err);

#endif
