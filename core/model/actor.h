/* SPDX-License-Identifier: MIT */
/* Actors: from the identity that a frontend vouches for to a user with a role. */
#ifndef KETTLE_MODEL_ACTOR_H
#define KETTLE_MODEL_ACTOR_H

#include "model/access.h"
#include "model/user_ref.h"
#include "store/db.h"

#define ACTOR_DELETED "deleted-" /* before the number of a removed user: the name that is left */
#define ACTOR_NAME_MAX 48        /* characters of a name that came from outside; a suffix still fits */

/*
 * Finds the user behind {"provider", "subject", "name", "role"?} ("role": "creator" or "admin" where the frontend
 * vouches for more than the database knows) and whether it may give the command. A write makes the user on first sight,
 * under its name or, where that is another's, the name with a number; anything else knows it as user 0. access may be
 * NULL: no right is required. EINVAL: not an actor; EACCES: no right, or banned (only for what writes, and not where
 * check_ban_last is set). Store's threads. The strings of *ret_actor are valid until the operation ends.
 */
int actor_resolve(
	struct db *db, const json_t *actor, const struct access *access, struct actor *ret_actor, struct kettle_error *err);
/*
 * The user of an identity, made if there is none yet; the name is what a frontend calls them, or NULL. EINVAL: not an
 * identity.
 */
int actor_make(struct db *db, const char *provider, const char *subject, const char *name, int64_t *ret_user,
	struct kettle_error *err);
/* Adds an identity to a user. *ret_other is set only if a user already has it, who keeps it. EINVAL: not an identity. */
int actor_identity_add(struct db *db, int64_t user, const char *provider, const char *subject, const char *name,
	int64_t *ret_other, struct kettle_error *err);
/*
 * What a user is called who has this name in a frontend: in its normal form, never read as an identity or a number. "": it
 * has nothing to show, or letters of several scripts, or is like that of a removed user. New string. [any]
 */
char *actor_fit_name(const char *outside);
/* The first of NAME, NAME-2, NAME-3, … that is no user's. */
int actor_free_name(struct db *db, const char *name, char *ret_name, size_t size, struct kettle_error *err);
/* The role that is stored or vouched for under this name; RIGHT_ANYBODY for "user" and any other name. [any] */
enum access_right actor_role(const char *name);
/* "user", "creator", "admin". [any] */
const char *actor_role_name(enum access_right role);

#endif
