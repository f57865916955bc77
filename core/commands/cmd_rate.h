/* SPDX-License-Identifier: MIT */
/* Commands on the rate limits of a leaderboard. Store's threads; see command.h for their form. */
#ifndef KETTLE_CMD_RATE_H
#define KETTLE_CMD_RATE_H

#include "commands/command.h"

#define RATE_PER_HOUR_MAX 1000000

/*
 * leaderboard.rate_limits {name, category?, device?}: {"leaderboard", "limits": [{"category", "device": name or null
 * (all together), "per_hour"}]}, for whoever may see the board.
 */
int cmd_rate_limits(struct db *db, const struct command_env *env, const struct actor *actor, const json_t *args,
	json_t **ret_result, struct kettle_error *err);
/*
 * leaderboard.rate_limit {name, category?, device?, per_hour?, remove}: sets a limit, or removes those that fit; both
 * categories where none is named. The same answer, with what is there then. Its creator or an admin. Event
 * leaderboard.limited. EINVAL: neither or both of per_hour and remove; ENOENT: there is none to remove.
 */
int cmd_rate_limit(struct db *db, const struct command_env *env, const struct actor *actor, const json_t *args,
	json_t **ret_result, struct kettle_error *err);

#endif
