/* SPDX-License-Identifier: MIT */
/* How many submissions a leaderboard has. Store's threads. */
#ifndef KETTLE_MODEL_SUBMISSION_COUNT_H
#define KETTLE_MODEL_SUBMISSION_COUNT_H

#include <stdbool.h>

#include "store/db.h"

#define SUBMISSION_COUNT_MOST 10000 /* submissions that one count looks at, the newest ones */

/*
 * Counts those of a user (0: of all), on a device, in a mode (ranked is also called leaderboard) and in a state (NULL: any).
 * *ret_more: there may be more among older ones, at which it did not look.
 */
int submission_count(struct db *db, int64_t board, int64_t user, const char *device, const char *mode,
	const char *state, int64_t *ret_count, bool *ret_more, struct kettle_error *err);

#endif
