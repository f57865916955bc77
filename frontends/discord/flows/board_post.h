/* SPDX-License-Identifier: MIT */
/*
 * The post of a leaderboard: a thread of the forum or, without one, a message in the announcements channel, which the outbox keeps
 * as "post/ID" (the board's number). Loop thread.
 */
#ifndef KETTLE_DISCORD_BOARD_POST_H
#define KETTLE_DISCORD_BOARD_POST_H

#include "discord/flows/announcement.h"

/*
 * Makes the post what a->board is now, public or not (a->open): makes one for an active board that has none, hides that of a
 * board that is not public any more. Then step. What Discord refuses is logged.
 */
void board_post_refresh(struct announcement *a, announcement_fn step);
/* The event's board was deleted: says so in its post, archives that, and forgets it. Ends the announcement. */
void board_post_remove(struct announcement *a);
/* The thread of the board's post in the forum; NULL: there is none that is seen. Borrowed. */
const char *board_post_thread(const struct announcement *a);

#endif
