/* SPDX-License-Identifier: MIT */
/*
 * The post of a leaderboard: a thread of the forum or, without a forum, a message in the announcements channel. The
 * outbox keeps it as "post/ID" (the board's number). Loop thread.
 */
#ifndef KETTLE_DISCORD_BOARD_POST_H
#define KETTLE_DISCORD_BOARD_POST_H

#include "discord/flows/announcement.h"

/*
 * Updates the post to the present a->board, public or not (a->open): makes a post for an active board without one, and
 * hides that of a board that is no longer public. Then calls step. Logs refusals of Discord.
 */
void board_post_refresh(struct announcement *a, announcement_fn step);
/* The event's board was deleted: says so in its post, archives the post, and forgets it. Ends the announcement. */
void board_post_remove(struct announcement *a);
/* The visible thread of the board's post in the forum; NULL: there is none. Borrowed. */
const char *board_post_thread(const struct announcement *a);

#endif
