/* SPDX-License-Identifier: MIT */
/* The forms in which a task, or a set of tasks, is given: which of them a path is. Blocking. */
#pragma once

#include "task/source_dir.h"

#include <jansson.h>

/*
 * A folder with a task.yml, or the path of that: the form that most tasks have. A zip with task.yml at its top or in
 * one folder there; ../ resolves inside of it alone. A single reference file, which the language makes into a task
 * (language.h: single_file). Competition files (competition.h): one by its path, or all that lie in a folder or a zip,
 * at its top or else in TASK_FORM_COMPETITIONS there; one folder at the top of a zip does not count.
 */
#define TASK_FORM_COMPETITIONS "problems"
enum task_form_kind { TASK_FORM_FOLDER = 1, TASK_FORM_ARCHIVE, TASK_FORM_SINGLE, TASK_FORM_COMPETITION };

/* The form of a path. Zero-initialise; task_form_free at the end. */
struct task_form {
	enum task_form_kind kind;
	struct task_archive *archive; /* NULL: on this machine */
	struct source_dir source_dir; /* of task.yml, of the competition files, of the single file */
	char *name;                   /* of the task by its folder or archive; of a single file its own name */
	char *text;                   /* of a single file */
	size_t size;
	json_t *competitions; /* names of the competition files in source_dir */
};

/*
 * Finds out which form a path has; opens and unpacks an archive. ENOENT, EACCES, EINVAL (none of the forms: the
 * sentence says what was looked for), ETOOBIG. [any]
 */
int task_form_open(const char *path, struct task_form *ret_form, struct kettle_error *err);
/*
 * The same for the bytes of a file with that name, from any source: a zip, or else a single reference file. Reads
 * nothing from this machine. EINVAL, ETOOBIG. [any]
 */
int task_form_open_bytes(
	const char *name, const void *data, size_t size, struct task_form *ret_form, struct kettle_error *err);
/*
 * The names of the competition files in a folder, else in TASK_FORM_COMPETITIONS below it; then *place becomes that
 * folder. New reference. Blocking. [any]
 */
json_t *task_form_place_competitions(struct source_dir *place);
/* A folder below one without competition files that has some; new string, or NULL. Blocking. [any] */
char *task_form_near_competitions(const struct source_dir *source_dir);
void task_form_free(struct task_form *form);
#define AUTO_TASK_FORM __attribute__((cleanup(task_form_free)))
