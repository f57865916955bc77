/* SPDX-License-Identifier: MIT */
/* The command that changes a leaderboard. Store's thread; see command.h for its form. */
#ifndef KETTLE_CMD_BOARD_UPDATE_H
#define KETTLE_CMD_BOARD_UPDATE_H

#include "commands/command.h"

/*
 * leaderboard.update {name, deadline?, device?, visibility?, code?, description?, task?, force}: what board_update
 * answers, with "leaderboard": the board as leaderboard.list shows it, "remarks". Its creator or an admin. EINVAL:
 * nothing is to be changed.
 */
int cmd_board_update(struct db *db, const struct command_env *env, const struct actor *actor, const json_t *args,
	json_t **ret_result, struct kettle_error *err);

#endif
