/* SPDX-License-Identifier: MIT */
/* Invites to closed leaderboards, by their codes, and the access that they give. Store's thread. */
#ifndef KETTLE_MODEL_INVITES_H
#define KETTLE_MODEL_INVITES_H

#include "store/db.h"

/* boards: their ids. */
int invite_insert(struct db *db, const char *code, int64_t creator, const json_t *boards, struct kettle_error *err);
/*
 * The invites of a leaderboard, newest first, as invite.list shows them, and how many there are on all pages. New
 * reference.
 */
int invite_list(struct db *db, int64_t leaderboard, int64_t limit, int64_t offset, json_t **ret_invites,
	int64_t *ret_count, struct kettle_error *err);
/* {"claimed_by": id or null, "user_name", "leaderboards"}. ENOENT. New reference. */
int invite_get(struct db *db, const char *code, json_t **ret_row, struct kettle_error *err);
/* Gives the user access from now on. Event leaderboard.joined for each leaderboard. */
int invite_claim(struct db *db, const char *code, int64_t user, struct kettle_error *err);
/* Removes the invite and its access, unless another invite of the same user gives that too. */
int invite_delete(struct db *db, const char *code, struct kettle_error *err);

#endif
