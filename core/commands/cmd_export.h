/* SPDX-License-Identifier: MIT */
/* The command that hands out a leaderboard's submissions. Store's reader; see command.h for its form. */
#ifndef KETTLE_CMD_EXPORT_H
#define KETTLE_CMD_EXPORT_H

#include "commands/command.h"

#define EXPORT_PAGE 500               /* submissions of one answer */
#define EXPORT_PAGE_BYTES (4u << 20)  /* of code in one answer; the submission that goes beyond is its last */
#define EXPORT_MAX_ID 999999999999999 /* an id that JSON's readers hold exactly */

/*
 * leaderboard.export {name, private, after}: a page of submissions with numbers over `after`, in order:
 * {"leaderboard", "total": submissions on the board (only with after 0, else null), "submissions": [{"id", "user_id" (text),
 * "user_name", "mode", "file_name", "submission_time", "state", "flagged": reason or null, "counts": whether it is of the
 * rankings' present, "task": hash of the version it ran on, "sha256", "code", "devices": [{"device", "state", "score",
 * "low", "high"}]}], "next": what to pass as `after`, or null at the end}.
 *
 * The board's creator and admins get every submission; others only those that submission_open opens. ECONFLICT: the board
 * is active, and private is not set; EACCES: neither creator nor admin, and private is set, or the code is not open.
 */
int cmd_board_export(struct db *db, const struct command_env *env, const struct actor *actor, const json_t *args,
	json_t **ret_result, struct kettle_error *err);

#endif
