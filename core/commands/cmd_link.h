/* SPDX-License-Identifier: MIT */
/* Commands that make one person of two users. Store's thread; see command.h for their form. */
#ifndef KETTLE_CMD_LINK_H
#define KETTLE_CMD_LINK_H

#include "commands/command.h"

#define LINK_CODE_LETTERS 10 /* of 32: 50 bits */
#define LINK_CODE_MS 600000  /* how long a code holds */

/*
 * user.link {code?, confirm}. Without a code: {"code", "expires"}; codes are stored as hashes, work once, and a new one
 * ends the user's last. With one that somebody else has made: {"joined": whether, "from": user_object, "into": the
 * same}; only with confirm their user is joined into the actor's (user_join), else it is shown what that would be.
 * Events user.code, user.joined. ENOENT: no such code, or too old; ECONFLICT: one's own.
 */
int cmd_user_link(struct db *db, const struct command_env *env, const struct actor *actor, const json_t *args,
	json_t **ret_result, struct kettle_error *err);
/* user.join {name, into}: the same by an admin, at once. ECONFLICT: both are one already. */
int cmd_user_join(struct db *db, const struct command_env *env, const struct actor *actor, const json_t *args,
	json_t **ret_result, struct kettle_error *err);

#endif
