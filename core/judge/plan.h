/* SPDX-License-Identifier: MIT */
/* The whole plan of a job: what the core prepares and the language completes. Pure. */
#ifndef KETTLE_TASK_PLAN_H
#define KETTLE_TASK_PLAN_H

#include "judge/language.h"

#include <jansson.h>
#include <kettle/error.h>

/*
 * The whole plan of a job: the runs (task_runs.h), completed by the language, and checked: by the plan schema, that
 * names are unique, that a step needs and takes from earlier ones only, and that every prepared run is there with its
 * cases, condition, secret and limits untouched. bundle: a checked one (task.h); code: text of the submission; mode,
 * seed: as task_runs; device: its configuration with "name" and, where it is calibrated, "calibration" (calibration.h), of
 * which runs get the unit's times and those of this task. EINVAL: the task, or its combination with the device, cannot be
 * planned; EINTERNAL: the language made a plan that is none. [any]
 */
int task_plan(const struct languages *languages, const json_t *bundle, const char *code, const char *mode,
	const json_t *device, const char *seed, json_t **ret_plan, struct kettle_error *err);

/*
 * Build steps that show whether the device's machine has what the task needs (`probe` of kettle/language.h), checked as a
 * plan is. KETTLE_ENOENT: it needs nothing of the kind; else as task_plan. [any]
 */
int task_plan_probe(const struct languages *languages, const json_t *bundle, const json_t *device, json_t **ret_plan,
	struct kettle_error *err);

/* Checks a plan as task_plan does. runs: the prepared run steps. EINVAL with a sentence. [any] */
int task_plan_check(const json_t *plan, const json_t *runs, struct kettle_error *err);

#endif
