/* SPDX-License-Identifier: MIT */
/*
 * Tokens, of which only hashes are stored: `token` and `session` act as a user, a `pending` one waits until a user
 * confirms it with the code `login`, and a `link` is a code that merges its user into another. An expired one counts as
 * missing. Store's thread.
 */
#pragma once

#include "store/db.h"

#define TOKEN_USED_MS 60000 /* how exact used_at is */

/* A new one; borrowed. */
struct token {
	const char *hash, *kind;
	int64_t user;               /* 0: none yet */
	const char *name, *address; /* or NULL */
	const json_t *data;         /* of a login: {"token": hash of the pending one}; or NULL */
	int64_t expires_at;         /* ms since 1970; 0: never */
};

/* Stores a token. A new link ends the user's last one. */
int token_insert(struct db *db, const struct token *token, struct kettle_error *err);
/* Counts a user's tokens of the kind `token`, of this name (NULL: of any). */
int token_count(struct db *db, int64_t user, const char *name, int64_t *ret_count, struct kettle_error *err);
/* The tokens and sessions of a user, oldest first: [{"name", "kind", "created", "used", "expires"}]. New reference. */
int token_list(struct db *db, int64_t user, json_t **ret_tokens, struct kettle_error *err);
/*
 * Deletes a user's tokens and sessions of this name (NULL: all of the user's); *ret_count: how many. Events
 * token.revoked and login.revoked, one for each name.
 */
int token_delete(struct db *db, int64_t user, const char *name, int64_t *ret_count, struct kettle_error *err);
/*
 * A token that acts as a user or will: {"kind", "name", "id": the user's, "user_name", "role", "expires", "provider",
 * "subject"}. ENOENT. New reference.
 */
int token_get(struct db *db, const char *hash, json_t **ret_row, struct kettle_error *err);
/* Notes a use of the token: at most once in TOKEN_USED_MS, so that most uses write nothing. */
int token_note_use(struct db *db, const char *hash, struct kettle_error *err);
/* A code of the kind `login` or `link`: {"user", "name", "begun", "data"}. ENOENT. New reference. */
int token_get_code(struct db *db, const char *hash, const char *kind, json_t **ret_row, struct kettle_error *err);
/* Removes logins that have expired; how many wait from this address, and in all. */
int token_count_pending(
	struct db *db, const char *address, int64_t *ret_here, int64_t *ret_all, struct kettle_error *err);
/* Marks the login of this pending token: its data have "reset". ENOENT: it has ended. */
int token_reset_login(struct db *db, const char *hash, struct kettle_error *err);
/* Makes the pending token a session of the user, and uses up its code. ENOENT: it has ended. */
int token_confirm(
	struct db *db, const char *hash, const char *code_hash, int64_t user, int64_t expires_at, struct kettle_error *err);

/* ---- invites to closed leaderboards, by their codes, and the access that they give ---- */

/* boards: their ids. */
int invite_insert(struct db *db, const char *code, int64_t creator, const json_t *boards, struct kettle_error *err);
/* The invites of a leaderboard, newest first, as of invite.list, and how many are on all pages. New reference. */
int invite_list(struct db *db, int64_t leaderboard, int64_t limit, int64_t offset, json_t **ret_invites,
	int64_t *ret_count, struct kettle_error *err);
/* {"claimed_by": id or null, "user_name", "leaderboards"}. ENOENT. New reference. */
int invite_get(struct db *db, const char *code, json_t **ret_row, struct kettle_error *err);
/* Gives the user access from now on. Event leaderboard.joined for each leaderboard. */
int invite_claim(struct db *db, const char *code, int64_t user, struct kettle_error *err);
/* Removes the invite and its access, unless another invite of the same user gives that too. */
int invite_delete(struct db *db, const char *code, struct kettle_error *err);
