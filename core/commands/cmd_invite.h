/* SPDX-License-Identifier: MIT */
/* Commands on invites to closed leaderboards. Store's threads; see command.h for their form. */
#ifndef KETTLE_CMD_INVITE_H
#define KETTLE_CMD_INVITE_H

#include "commands/command.h"

#define INVITE_CODE_LENGTH 32 /* letters of 5 bits each: 160 bits */
#define INVITE_MAX_COUNT 1000 /* codes of one command */

/*
 * invite.create {name: [boards], count}: codes, each good for one user and all of these boards: {"leaderboards", "codes"}.
 * The creator of all of them, or an admin. Event invite.created, which has no code in it.
 */
int cmd_invite_create(struct db *db, const struct command_env *env, const struct actor *actor, const json_t *args,
	json_t **ret_result, struct kettle_error *err);
/*
 * invite.list {name, limit, offset}: {"leaderboard", "count", "invites": [{"code", "user_id": text or null, "user_name",
 * "claimed_at", "created_at", "leaderboards"}]}, newest first. The board's creator or an admin.
 */
int cmd_invite_list(struct db *db, const struct command_env *env, const struct actor *actor, const json_t *args,
	json_t **ret_result, struct kettle_error *err);
/*
 * invite.revoke {code}: {"code", "was_claimed", "user_name", "leaderboards"}. Who claimed it loses the access that it
 * gave, unless another invite gives it too; submissions stay. The creator of its boards, or an admin. Event
 * invite.revoked. ENOENT.
 */
int cmd_invite_revoke(struct db *db, const struct command_env *env, const struct actor *actor, const json_t *args,
	json_t **ret_result, struct kettle_error *err);
/*
 * leaderboard.join {code}: claims it: {"status": "ok", "leaderboards": [names]}. Twice by one user is fine. Event
 * leaderboard.joined for each board. EINVAL: no such code, or somebody else's.
 */
int cmd_invite_join(struct db *db, const struct command_env *env, const struct actor *actor, const json_t *args,
	json_t **ret_result, struct kettle_error *err);

#endif
