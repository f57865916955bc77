/* SPDX-License-Identifier: MIT */
/* Actors: from the identity that a frontend vouches for to a user with a role. */
#pragma once

#include "model/access.h"
#include "model/user_ref.h"
#include "store/db.h"

#define ACTOR_DELETED "deleted-" /* before the number of a removed user: the name that is left */
#define ACTOR_NAME_MAX 48        /* characters of a name that came from outside; a suffix still fits */

/*
 * Finds the user behind {"provider", "subject", "name", "role"?} ("role": "creator" or "admin" where the frontend
 * vouches for more than the database knows) and checks that the user may give the command. A write makes the user on
 * first sight, under its name or, if another user has that, the name with a number; a read by an unknown actor has user
 * 0. access may be NULL: no right is required. EINVAL: not an actor; EACCES: no right, or banned (only for writes, and
 * not where check_ban_last is set). Store's threads. The strings of *ret_actor are valid until the operation ends.
 */
int actor_resolve(
	struct db *db, const json_t *actor, const struct access *access, struct actor *ret_actor, struct kettle_error *err);
/* The user of an identity, made if there is none; name: the user's in the frontend, or NULL. EINVAL: not an identity. */
int actor_make(struct db *db, const char *provider, const char *subject, const char *name, int64_t *ret_user,
	struct kettle_error *err);
/*
 * Adds an identity to a user. If a user already has it, that user keeps it and is *ret_other, which is not set
 * otherwise. EINVAL: not an identity.
 */
int actor_identity_add(struct db *db, int64_t user, const char *provider, const char *subject, const char *name,
	int64_t *ret_other, struct kettle_error *err);
/*
 * The name for a user whose name in a frontend is `outside`: its normal form, never read as an identity or a number.
 * "": the name has nothing visible, mixes scripts, or looks like that of a removed user. New string. [any]
 */
char *actor_fit_name(const char *outside);
/* The first of NAME, NAME-2, NAME-3, … that no user has, and whose page no other address is. */
int actor_free_name(struct db *db, const char *name, char *ret_name, size_t size, struct kettle_error *err);
/* The role that is stored or vouched for under this name; RIGHT_ANYBODY for "user" and any other name. [any] */
enum access_right actor_role(const char *name);
/* "user", "creator", "admin". [any] */
const char *actor_role_name(enum access_right role);
