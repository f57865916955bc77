/* SPDX-License-Identifier: MIT */
/* What others may see of a user. Store's threads. */
#ifndef KETTLE_MODEL_USER_PAGE_H
#define KETTLE_MODEL_USER_PAGE_H

#include "model/user.h"

#define USER_PAGE_RANKS_MAX 100 /* rankings on a page */
#define USER_PAGE_POINTS_MAX 50 /* improvements of each */
#define USER_PAGE_DAYS_MAX 366  /* with ranked submissions */

/*
 * The page of a user as user.page shows it: what rankings show to the actor, on boards that the actor sees. Of a user
 * whose profile is hidden others get number and name alone; the user and admins get all. New reference.
 */
int user_page(
	struct db *db, const struct actor *actor, const struct user *user, json_t **ret_page, struct kettle_error *err);
/* Sets the profile: "public" or "hidden". */
int user_set_profile(struct db *db, int64_t user, const char *profile, struct kettle_error *err);

#endif
