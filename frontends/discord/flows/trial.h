/* SPDX-License-Identifier: MIT */
/* Calls of commands that try tasks before they create leaderboards: says which one is being tried. Loop thread. */
#pragma once

#include "discord/interaction/interaction.h"

/*
 * interaction_call, with a message on the leaderboard that is being tried until the answer. boards: an object whose keys
 * are the names of those that the command may create (stolen).
 */
void trial_call(struct interaction *interaction, const char *command, json_t *args_take, json_t *boards_take,
	interaction_fn fn, kettle_fn end, void *arg);
