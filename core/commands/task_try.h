/* SPDX-License-Identifier: MIT */
/* Tries a task on its devices: its template, once on each that is free. Loop thread. */
#ifndef KETTLE_COMMANDS_TASK_TRY_H
#define KETTLE_COMMANDS_TASK_TRY_H

#include "session/core.h"

/*
 * Runs the first template of the task (borrowed), or an empty file where it has none, as a test on each device of names
 * (an array; taken), on the first of its units that is free, one after the other, with progress as of task.run. done
 * gets, once, perhaps before this returns, a borrowed array in the order of names:
 *
 * {"device", "state": as of a verdict, or "skipped": it was not run, "blame", "lacks"?: what the machine lacks, where
 * that is why, "error", "said": all of it in words, "imported": the modules that task and template imported, by the
 * harness's report, "log": the output of the step that failed by the task's fault}
 */
void task_try(struct core *core, const struct waiter *waiter, const json_t *bundle, json_t *names_take,
	void (*done)(void *arg, json_t *tried), void *arg);
/* The first result that failed by the task's fault, or NULL. Borrowed. */
const json_t *task_try_fault(const json_t *tried);
/* The first result by which no submission could pass on its device: such a failure, or something that the machine lacks. */
const json_t *task_try_obstacle(const json_t *tried);
/* The imports on all devices together. New reference. */
json_t *task_try_imports(const json_t *tried);

#endif
