/* SPDX-License-Identifier: MIT */
/* Commands on people. Store's threads; see command.h for their form, its table for arguments and rights. */
#ifndef KETTLE_CMD_USER_H
#define KETTLE_CMD_USER_H

#include "commands/command.h"

#define USER_REASON_MAX 500 /* characters */

/* user.list {role?, banned, limit, offset}: those nobody was joined from, by name, as user_object. */
int cmd_user_list(struct db *db, const struct command_env *env, const struct actor *actor, const json_t *args,
	json_t **ret_result, struct kettle_error *err);
/* user.show {name?}: oneself, for admins everybody: user_object in full. */
int cmd_user_show(struct db *db, const struct command_env *env, const struct actor *actor, const json_t *args,
	json_t **ret_result, struct kettle_error *err);
/*
 * user.ban {name, reason}: nothing of theirs counts any more, what they have open is cancelled, and they write nothing.
 * Events: of each cancelled submission, rank.changed, user.banned. {"user_id", "user_name", "cancelled": [submission]}.
 * ECONFLICT: banned already, an admin, oneself.
 */
int cmd_user_ban(struct db *db, const struct command_env *env, const struct actor *actor, const json_t *args,
	json_t **ret_result, struct kettle_error *err);
/* user.unban {name}: what they have counts again; what was cancelled stays so. Event user.unbanned. ECONFLICT. */
int cmd_user_unban(struct db *db, const struct command_env *env, const struct actor *actor, const json_t *args,
	json_t **ret_result, struct kettle_error *err);
/* user.role {name, role}: {"user_id", "user_name", "role", "was"}. Event user.role. ECONFLICT: the last admin, or banned. */
int cmd_user_role(struct db *db, const struct command_env *env, const struct actor *actor, const json_t *args,
	json_t **ret_result, struct kettle_error *err);

#endif
