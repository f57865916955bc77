/* SPDX-License-Identifier: MIT */
/* Commands on leaderboards. Store's threads; see command.h for their form, its table for arguments and rights. */
#ifndef KETTLE_CMD_BOARD_H
#define KETTLE_CMD_BOARD_H

#include "commands/command.h"

/*
 * leaderboard.create {name, task, deadline?, device?, description?, visibility}: the board as leaderboard.list shows
 * it, with "remarks". Devices: those given, else the task's, else the only one that is configured. A deadline that has
 * passed is a remark, so that an old competition can be kept.
 */
int cmd_board_create(struct db *db, const struct command_env *env, const struct actor *actor, const json_t *args,
	json_t **ret_result, struct kettle_error *err);
/* The same without writing anything: whether it could be created, and on which devices. New reference. */
int cmd_board_create_check(
	struct db *db, const struct command_env *env, const json_t *args, json_t **ret_devices, struct kettle_error *err);
/* leaderboard.list {all}: the array of GET /leaderboards. */
int cmd_board_list(struct db *db, const struct command_env *env, const struct actor *actor, const json_t *args,
	json_t **ret_result, struct kettle_error *err);
/*
 * leaderboard.show {name, device?, mine, limit, offset}: {"leaderboard": …, "rankings": [ranking_page's page for each
 * device], "code_open": whether the actor may read the code behind their entries}; mine: the actor's own runs
 * (ranking_page_of).
 */
int cmd_board_show(struct db *db, const struct command_env *env, const struct actor *actor, const json_t *args,
	json_t **ret_result, struct kettle_error *err);
/* leaderboard.delete {name, force}: {"name", "submissions": how many went with it}. */
int cmd_board_delete(struct db *db, const struct command_env *env, const struct actor *actor, const json_t *args,
	json_t **ret_result, struct kettle_error *err);

#endif
