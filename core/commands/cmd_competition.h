/* SPDX-License-Identifier: MIT */
/* The command that makes leaderboards what a competition file says. Store's threads; see command.h for its form. */
#ifndef KETTLE_CMD_PROBLEMS_H
#define KETTLE_CMD_PROBLEMS_H

#include "commands/command.h"

/*
 * problems.sync {problems: {"sets": competition.h's}, force, dry_run}: makes every problem's leaderboard, or changes
 * its task, deadline and devices (board_update.h) to what the file says, all in one transaction: an error of the
 * database undoes everything, while a problem that is wrong, or may not be touched, is told and the others are done.
 *   {"created": [name], "updated": [name], "unchanged": [name], "skipped": [{"name", "reason"}], "errors": [{"name",
 *    "error"}], "absent": [name: boards of the set that the file no longer has, which stay as they are],
 *    "plan": [{"name", "set", "action": "create" or "update", "changes", "differs", "scores", "ranked", "open",
 *        "devices", "deadline", "remarks"}: what was done to those that are created or updated], "dry_run"}
 * Skipped without force: a board of that name that does not belong to the set, and a task that runs differently while
 * there are scores, which would be left behind. Who may: of a board its creator and admins. dry_run: nothing is written.
 */
int cmd_problems_sync(struct db *db, const struct command_env *env, const struct actor *actor, const json_t *args,
	json_t **ret_result, struct kettle_error *err);

#endif
