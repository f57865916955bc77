/* SPDX-License-Identifier: MIT */
/* The changes of the first places of a board's rankings, from the stored events. */
#pragma once

#include "model/board.h"
#include "store/db.h"

/*
 * Changes with events below the number `before` (0: from the newest), of a device (NULL: of all), newest first, at most limit:
 * {"leaderboard", "changes": [{"seq", "time", "device", "moved": [{"user_name", "before": rank or null, "after": rank or null}]}],
 * "next": what `before` gets the next page, or null}. A place outside of the first ones is known only of who entered them.
 * Names are today's; banned users are left out, and so are changes without other users. Store's threads. New reference.
 */
int podium_changes(struct db *db, const struct board *board, const char *device, int64_t before, int64_t limit,
	json_t **ret_page, struct kettle_error *err);
