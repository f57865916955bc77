/* SPDX-License-Identifier: MIT */
/* Tasks: read in any of their forms, checked, hashed. Pure but for reading files. */
#pragma once

#include "judge/language.h"
#include "judge/plan.h"
#include "judge/run_steps.h"

#include <jansson.h>
#include <kettle/error.h>

#define TASK_IMPORTS_MAX 32 /* names of modules, */
#define TASK_IMPORT_MAX 64  /* bytes of each */

/*
 * A bundle is a self-contained task:
 *   {"name": folder's name, "yml": text of task.yml, "task": checked and completed task.yml,
 *    "files": {name in the job's folder → contents}, "submission": the name that @SUBMISSION@ has there,
 *    "templates": {language → {"file_name", "text"}}, "remarks": [sentence…], "hash": sha256 of what a run depends on,
 *    "judging": judging_of (judging.h)}
 *
 * With `harness: kettle` the files are those of the task and, under names of the language's, those of Kettle's harness.
 * `task` has every key of task.yml; absent ones have their default, `seed`, `harness` and `jit_cache` stay absent. `lang`
 * is the language's own name, whatever alias the file used. The hash covers language, configuration, cases, scoring, timeouts and the files'
 * contents; not description, templates and devices.
 */

/*
 * The keys of task.yml that decide, with the files, how a task runs and scores: a change of any other key leaves old
 * scores valid. Ends with NULL.
 */
extern const char *const task_running_keys[];

/* The languages among which is to choose for the task at a path (task_single_languages); empty: it is no single file. */
int task_languages(const struct languages *languages, const char *path, json_t **ret_names, struct kettle_error *err);
/*
 * Reads a task in any of its forms (task_form.h): a folder or the path of its task.yml, a zip, a single reference file.
 * Sources may leave the folder by ../ as the format allows, but not by links, and a zip not at all; sizes are bounded.
 * lang: the language in which a single file is read, and which any other task must have; NULL: any. Errors name file
 * and line. Blocking. [any]
 */
int task_read_as(const struct languages *languages, const char *path, const char *lang, json_t **ret_bundle,
	struct kettle_error *err);
/* The same for the bytes of a zip or of a single reference file, called `name`, from any source. [any] */
int task_read_bytes(const struct languages *languages, const char *name, const void *data, size_t size,
	const char *lang, json_t **ret_bundle, struct kettle_error *err);
/* The same with any language. */
int task_read(const struct languages *languages, const char *path, json_t **ret_bundle, struct kettle_error *err);
/*
 * The last step of reading: task_check_bundle, with the remarks that `raw` already has before its own. label: task.yml
 * in messages; NULL: "NAME/task.yml". [any]
 */
int task_complete(const struct languages *languages, const json_t *raw, const char *label, json_t **ret_bundle,
	struct kettle_error *err);
/*
 * Checks a bundle that came from elsewhere (a client sent it), trusting nothing in it: `task`, `remarks` and `hash` are
 * made again from `yml` and `files`; `imported`, the names of modules that task and template imported when they were
 * tried, stays if it is a plain list. Returns a new, completed bundle. [any]
 */
int task_check_bundle(
	const struct languages *languages, const json_t *bundle, json_t **ret_bundle, struct kettle_error *err);
/*
 * task_check_bundle, or, with a harness ("kettle"; NULL: what task.yml says), the same for the bundle as if its task.yml
 * had `harness`: its text gets that line, and errors about the harness then name the task alone. [any]
 */
int task_check_harness(const struct languages *languages, const json_t *bundle, const char *harness,
	json_t **ret_bundle, struct kettle_error *err);
/*
 * The same for a bundle that was read here, so that its remarks, those about its folder among them, stay. harness NULL:
 * the bundle itself. New reference. [any]
 */
int task_add_harness(const struct languages *languages, json_t *bundle, const char *harness, json_t **ret_bundle,
	struct kettle_error *err);
/* task_read_as with that harness. */
int task_read_harness(const struct languages *languages, const char *path, const char *lang, const char *harness,
	json_t **ret_bundle, struct kettle_error *err);
/* The code to run before there are submissions: the text of the first template (borrowed). NULL: it has none. [any] */
const char *task_template(const json_t *bundle);
