/* SPDX-License-Identifier: MIT */
/* Commands that set units of devices aside and bring them back. */
#ifndef KETTLE_CMD_DEVICE_H
#define KETTLE_CMD_DEVICE_H

#include "commands/command.h"

/*
 * device.disable {unit: [name…], reason}: {"units": [{"device", "unit", "state": "aside", "reason"}]}. A name is a
 * unit's or that of a device, which stands for all its units. ENOENT: there is none of that name.
 */
void cmd_device_disable(
	struct core *core, const struct actor *actor, const json_t *args, kettle_answer answer, void *arg);
/*
 * device.enable {unit: [name…], test}: the same with the state "ready". test: only those whose machine says that they
 * are in order; the others stay as they were, with the state "failed" and why in "error".
 */
void cmd_device_enable(
	struct core *core, const struct actor *actor, const json_t *args, kettle_answer answer, void *arg);

#endif
