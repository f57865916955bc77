/* SPDX-License-Identifier: MIT */
/* device.calibrate: measures once how fast a unit is. On the loop thread of the database's owner. */
#ifndef KETTLE_CMD_CALIBRATE_H
#define KETTLE_CMD_CALIBRATE_H

#include "commands/command.h"

/*
 * device.calibrate {device?: [name…], force}: {"units": [{"device", "unit", "state", "names": {NAME: ns}, "before":
 * {NAME: ns}?, "at"?, "boards": [{"leaderboard", "names": {NAME: ns}}]?, "error"?, "remarks": [sentence…]}]}. state:
 * "calibrated" (now), "already" (before, and the machine is the same), "failed". boards: those whose tasks have calibrators
 * of their own and were measured now. Writes device.calibrated, of the unit and of each board's task.
 */
void cmd_device_calibrate(
	struct core *core, const struct actor *actor, const json_t *args, kettle_answer answer, void *arg);

#endif
