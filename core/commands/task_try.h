/* SPDX-License-Identifier: MIT */
/* Tries a task on its devices: what it needs, then its template, once on each that is free. Loop thread. */
#pragma once

#include "session/core.h"

/*
 * err: EUNAVAIL with a sentence that names what the first device lacks; ECANCELED: the caller has gone, or the engine ends.
 * Else tried is a borrowed array in the order of the devices, or NULL if only probes were run:
 *
 * {"device", "state": as of a verdict, or "skipped": it was not run, "blame", "lacks"?: what the machine lacks, where
 * that is why, "error", "said": all of it in words, "imported": the modules that task and template imported, by the
 * harness's report, "log": the output of the step that failed by the task's fault}
 */
typedef void (*task_tried)(void *arg, const struct kettle_error *err, json_t *tried);
/*
 * Has the first unit of each device build the probe of the task's language (kettle/language.h). A device is skipped if this
 * process has no runner for it, if the task cannot be planned for it, or if its machine does not answer. Then, if runs is
 * set, runs the first template of the task, or an empty file where it has none, as a test on each device, on the first of
 * its units that is free, one after the other. devices: as for local_job_devices. waiter: gets the progress, which is that
 * of task.run; the trial ends when no caller waits. bundle, devices and waiter are borrowed. done is called once, perhaps
 * before this returns.
 */
void task_try(struct core *core, const struct waiter *waiter, const json_t *bundle, const json_t *devices, bool runs,
	task_tried done, void *arg);
/*
 * The first result by which no submission could pass on its device, or NULL: it failed by the task's fault, or the machine
 * lacks something. Borrowed.
 */
const json_t *task_try_obstacle(const json_t *tried);
/* The imports on all devices together. New reference. */
json_t *task_try_imports(const json_t *tried);
