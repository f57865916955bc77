/* SPDX-License-Identifier: MIT */
/* Tasks in KernelBot's form under Kettle's harness: `harness: kettle` of task.yml. */
#pragma once

#include <jansson.h>
#include <kettle/error.h>
#include <stdbool.h>

#define KERNELBOT_MAIN "eval_kernelbot.py" /* both halves of the harness */

/* The operations adopt and judging of a language. [any] */
int kernelbot_adopt(void *self, const json_t *task, const json_t *files, json_t **ret_files, struct kettle_error *err);
const char *kernelbot_judging(void *self, const json_t *task, const json_t *files, int gpu);
/* Whether Kettle's harness judges the task in place of its own. [any] */
bool kernelbot_is_adopted(const json_t *task);
/*
 * The name in the job's folder of a file of an adopted task; borrowed from its own. Its own utils.py is called
 * task_utils.py there, since the harness has one too. NULL: its own harness, which is not part of a run. [any]
 */
const char *kernelbot_path(const json_t *files, const char *name);
