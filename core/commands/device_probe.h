/* SPDX-License-Identifier: MIT */
/* Whether the devices that are at hand have what a task needs, found out by building a little on each. */
#ifndef KETTLE_COMMANDS_DEVICE_PROBE_H
#define KETTLE_COMMANDS_DEVICE_PROBE_H

#include "session/core.h"

#include <jansson.h>
#include <kettle/error.h>

/*
 * Has the first unit of each device build what the task's language probes machines with (kettle/language.h). devices: names
 * (NULL or empty: those that the task names, else all of the configuration); one that this process has no runner for, that
 * the task cannot be planned for, or whose machine says nothing, is passed over. done: with EUNAVAIL and a sentence that
 * says what the first one lacks, else without an error; called once, perhaps before this returns. Loop thread.
 */
void probe_task(struct core *core, const json_t *bundle, const json_t *devices,
	void (*done)(void *arg, const struct kettle_error *err), void *arg);

#endif
