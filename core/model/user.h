/* SPDX-License-Identifier: MIT */
/* Users: found, shown, merged. Store's threads. */
#pragma once

#include "model/access.h"
#include "model/user_ref.h"
#include "store/db.h"

#define USER_NAME_SIZE 260 /* bytes of a name with its NUL: 64 characters */

struct user {
	int64_t id;
	char name[USER_NAME_SIZE];
	enum access_right role; /* the stored one */
	bool banned;
	bool made; /* by user_find_or_make_argument, just now */
};

/*
 * The user with the identity, the number, or the name (without case); a user who was merged into another is that other
 * user. ENOENT names the nearest name.
 */
int user_find(struct db *db, const struct user_ref *ref, struct user *ret_user, struct kettle_error *err);
/* By an argument of a command, which command_check has taken. */
int user_find_argument(struct db *db, const json_t *argument, struct user *ret_user, struct kettle_error *err);
/*
 * The same for what others may see of users. An identity of another user is ENOENT for all but admins, since the answer
 * would tell whose account it is.
 */
int user_find_shown(
	struct db *db, const struct actor *actor, const json_t *argument, struct user *ret_user, struct kettle_error *err);
/* By an argument; an identity that has no user yet makes one. For commands that write. */
int user_find_or_make_argument(struct db *db, const json_t *argument, struct user *ret_user, struct kettle_error *err);
int user_get(struct db *db, int64_t id, struct user *ret_user, struct kettle_error *err);
/* Counts the other admins, without those who are banned or merged. */
int user_other_admins(struct db *db, int64_t id, int64_t *ret_count, struct kettle_error *err);

/*
 * A user as commands show it: {"user_id" (text), "user_name", "role", "created", "banned": time or null, "ban_reason",
 * "submissions": how many, "identities": [{"provider", "name"}]}; full: with "subject" and "created" of identities, and
 * "merged": names of those who were merged into it, "profile": "public" or "hidden", "ranks": [{"leaderboard", "device", "rank", "of", "score"}].
 */
int user_object(struct db *db, int64_t id, bool full, json_t **ret_object, struct kettle_error *err);

/* user_object of those that were not merged into others, by name; role: only these, banned: only these. New reference. */
int user_list(struct db *db, const char *role, bool banned, int64_t limit, int64_t offset, json_t **ret_users,
	struct kettle_error *err);
/* All that is stored of a user but the submissions, as user.export has it in "user". New reference. */
int user_stored(struct db *db, int64_t id, json_t **ret_object, struct kettle_error *err);

/* Stores a ban (reason NULL: removes it), cancels open jobs (adds the numbers of their submissions), recomputes the rankings. */
int user_set_ban(struct db *db, int64_t id, const char *reason, json_t *cancelled, struct kettle_error *err);
int user_set_role(struct db *db, int64_t id, enum access_right role, struct kettle_error *err);
/*
 * Removes everything that identifies a user: the name (it becomes "deleted-NUMBER", as do those that were merged into
 * it), identities, tokens, access, notes on submissions and the role. Submissions, rankings and boards stay, under the
 * new name. Event user.deleted. *ret_name: the new name.
 */
int user_delete(struct db *db, const struct user *user, char ret_name[USER_NAME_SIZE], struct kettle_error *err);

/*
 * Merges `from` into `into`: identities, submissions, boards, access and everything else it has; the higher role, for
 * which the caller has an admin's consent. Recomputes rankings. The name of `from` stays and refers to `into`. Event
 * user.merged. EACCES: one of them is banned.
 */
int user_merge(struct db *db, const struct user *from, const struct user *into, struct kettle_error *err);

/* ---- what others see of a user ---- */

#define USER_PAGE_RANKS_MAX 100 /* rankings on a page */
#define USER_PAGE_POINTS_MAX 50 /* improvements of each */
#define USER_PAGE_DAYS_MAX 366  /* with ranked submissions */

/*
 * The page of a user as user.page shows it: what rankings show to the actor, on boards that the actor sees. Of a user
 * whose profile is hidden others get number and name alone; the user and admins get all. New reference.
 */
int user_page(
	struct db *db, const struct actor *actor, const struct user *user, json_t **ret_page, struct kettle_error *err);
/* Sets the profile: "public" or "hidden". *ret_changed: whether it was the other one. */
int user_set_profile(struct db *db, int64_t user, const char *profile, bool *ret_changed, struct kettle_error *err);
