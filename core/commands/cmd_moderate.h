/* SPDX-License-Identifier: MIT */
/* Commands with which somebody judges submissions on a board of theirs. Store's thread; see command.h for their form. */
#ifndef KETTLE_CMD_FLAG_H
#define KETTLE_CMD_FLAG_H

#include "commands/command.h"

#define FLAG_REASON_MAX 500 /* characters */

/*
 * submission.flag {id, reason}, by the board's creator and admins: marks it as a cheat. It leaves the ranking at once,
 * whatever still runs of it; code, runs and artifacts stay, and its owner cannot delete them. Event submission.flagged.
 * {"id", "status": "hacked", "reason"}. ECONFLICT: it is marked already.
 */
int cmd_submission_flag(struct db *db, const struct command_env *env, const struct actor *actor, const json_t *args,
	json_t **ret_result, struct kettle_error *err);
/* submission.unflag {id}: takes the mark back, and it counts again. Event submission.unflagged. {"id", "status": "ok"}.
 * ECONFLICT: it is not marked. */
int cmd_submission_unflag(struct db *db, const struct command_env *env, const struct actor *actor, const json_t *args,
	json_t **ret_result, struct kettle_error *err);
/*
 * submission.rerun {id, device: [name…]}, by the board's creator and admins: see jobs_rerun; no device: all that it was
 * submitted to. The answer has the form of submit's. EUNAVAIL: a device is not configured.
 */
int cmd_submission_rerun(struct db *db, const struct command_env *env, const struct actor *actor, const json_t *args,
	json_t **ret_result, struct kettle_error *err);

#endif
