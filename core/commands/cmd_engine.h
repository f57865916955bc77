/* SPDX-License-Identifier: MIT */
/* Commands that the engine answers, on the loop thread of the database's owner. See command.h for their form. */
#ifndef KETTLE_CMD_ENGINE_H
#define KETTLE_CMD_ENGINE_H

#include "commands/command.h"

/*
 * device.list {known}: every device with its units, their state, queue and machine, and their calibration: {"names", "spreads",
 * "at", "changed": the machine is another one since}, absent where there is none; for admins with each unit's section
 * of the configuration and why its machine cannot be reached. known: at once, with what machines said before; an engine
 * that stays asks them then.
 */
void cmd_device_list(struct core *core, const struct actor *actor, const json_t *args, kettle_answer answer, void *arg);
/* queue.place {job: [id…]}: {"places": [{"job", and what engine_place says}]} of those that are queued. */
void cmd_queue_place(struct core *core, const struct actor *actor, const json_t *args, kettle_answer answer, void *arg);
/* admin.gc {}: see gc_run. */
void cmd_admin_gc(struct core *core, const struct actor *actor, const json_t *args, kettle_answer answer, void *arg);

#endif
