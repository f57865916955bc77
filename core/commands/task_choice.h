/* SPDX-License-Identifier: MIT */
/* Which of the languages that can make a task of one reference file run it on the devices at hand. Loop thread. */
#ifndef KETTLE_COMMANDS_TASK_CHOICE_H
#define KETTLE_COMMANDS_TASK_CHOICE_H

#include "session/core.h"

/*
 * Plans a test of each bundle (an array; borrowed) for the first unit of each device of names (an array; taken). done gets,
 * once, perhaps before this returns, a borrowed array of those bundles, in their order, that can be planned for one of the
 * devices. A unit with a GPU is planned with what its machine reports, where that answers (local_job_describe).
 */
void task_choose(struct core *core, const json_t *bundles, json_t *names_take,
	void (*done)(void *arg, const json_t *fitting), void *arg);

#endif
