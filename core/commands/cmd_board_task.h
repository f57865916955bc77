/* SPDX-License-Identifier: MIT */
/* Commands that hand out what is behind a leaderboard. Store's threads; see command.h for their form. */
#ifndef KETTLE_CMD_BOARD_TASK_H
#define KETTLE_CMD_BOARD_TASK_H

#include "commands/command.h"

#define BOARD_PLANS_BYTES (16u << 20) /* of all plans in one answer, as JSON */

/* What stands in a plan where a submission's own secret will. */
#define BOARD_SECRET "<drawn for each submission>"

/*
 * leaderboard.task {name, device?, mode?}: everything that decides how a submission runs: {"leaderboard", "name": of the
 * task, "yml", "task", "submission": the name that the submission gets, "files": {name: contents}, "templates", "hash",
 * "plans": [{"device", "mode", "plan"}]}; plans are those that jobs get, for each device and mode, with {"task": name} in
 * place of contents that are a file of the task, {"submission": true} for the submission, and BOARD_SECRET for every
 * secret. A plan that cannot be made here has "error", a sentence, instead.
 */
int cmd_board_task(struct db *db, const struct command_env *env, const struct actor *actor, const json_t *args,
	json_t **ret_result, struct kettle_error *err);
/* leaderboard.template {name, lang?}: {"leaderboard", "templates": starter_list's}. */
int cmd_board_template(struct db *db, const struct command_env *env, const struct actor *actor, const json_t *args,
	json_t **ret_result, struct kettle_error *err);

#endif
