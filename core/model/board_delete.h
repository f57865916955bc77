/* SPDX-License-Identifier: MIT */
/* Deletes leaderboards: gone at once for everybody, their rows bit by bit. Store's thread. */
/*
 * Theory of operation. The first transaction hides the leaderboard: its name is free again, and whatever is asked of
 * `leaderboards` finds it no more, nor, since everything is asked together with its leaderboard, what is on it. It also
 * takes the first part of its rows. Each further part is a transaction of its own, so that whoever writes meanwhile waits
 * for one part and not for all; the row itself is the last to go. The owner of the database does the parts (maintenance.h):
 * what one leaves undone, because it was killed, the next one does when it starts.
 */
#ifndef KETTLE_BOARD_REMOVE_H
#define KETTLE_BOARD_REMOVE_H

#include "store/db.h"

#include <stdbool.h>

#define BOARD_REMOVE_PART 256 /* submissions of one transaction */

/* Hides the leaderboard and removes the first part of it, which is all of a small one. */
int board_delete(struct db *db, int64_t leaderboard, struct kettle_error *err);
/* Removes a part of the oldest that is hidden; *ret_more: something is left, of it or of another. */
int board_delete_part(struct db *db, bool *ret_more, struct kettle_error *err);
/* Whether one is hidden. */
int board_delete_open(struct db *db, bool *ret_open, struct kettle_error *err);

#endif
