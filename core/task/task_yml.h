/* SPDX-License-Identifier: MIT */
/* The text of a task.yml becomes a checked and completed task. Pure. */
#pragma once

#include "judge/language.h"

#include <jansson.h>
#include <kettle/error.h>

#define TASK_MAX_BYTES (32u << 20)     /* of all files and templates together */
#define TASK_MAX_NAME 100              /* bytes of a bundle's name */
#define TASK_SUBMISSION "@SUBMISSION@" /* placeholder of the submitted file */
#define TASK_MAX_UP 4                  /* levels by which a source may leave the task's folder */
#define TASK_MAX_WORLD 64              /* devices of one run */

/* A task.yml that was read. Zero-initialise; task_yml_free at the end. */
struct task_yml {
	json_t *task;           /* the checked task.yml with defaults filled in; `lang` is the language's own name */
	json_t *places;         /* as yaml_parse gives them */
	const char *submission; /* the name of the submitted file; borrowed from task */
	const struct language *language;
};

/* Reads text. name precedes the place in messages: "vectoradd/task.yml". EINVAL, ETOOBIG. [any] */
int task_yml_parse(const struct languages *languages, const char *name, const char *text, size_t size,
	struct task_yml *ret_yml, struct kettle_error *err);
void task_yml_free(struct task_yml *yml);
#define AUTO_TASK_YML __attribute__((cleanup(task_yml_free)))

/*
 * Brings the path of a source into its one form: leading ../ counted in *ret_up, the rest as a new string without dots
 * and empty parts. EINVAL: absolute, empty, more than TASK_MAX_UP levels up. The message has no name and line in front.
 * [any]
 */
int task_yml_source(const char *source, unsigned *ret_up, char **ret_path, struct kettle_error *err);
/*
 * The text of a task.yml that is valid, with the key `harness`: a line at its end, or, where that cannot be, as in the flow
 * style, all of it written anew. New string. EINVAL: it is not valid. [any]
 */
int task_yml_set_harness(
	const char *name, const char *text, const char *harness, char **ret_text, struct kettle_error *err);
