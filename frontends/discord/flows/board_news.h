/* SPDX-License-Identifier: MIT */
/* What happens to leaderboards, told in public: nothing of a board that is not public, before it opens neither. Loop thread. */
#ifndef KETTLE_DISCORD_BOARD_NEWS_H
#define KETTLE_DISCORD_BOARD_NEWS_H

#include "discord/flows/announcement.h"

/* leaderboard.created, opened, updated: the board's post. */
void board_news_changed(struct announcement *a);
/* leaderboard.podium of an active board: in the announcements channel. */
void board_news_podium(struct announcement *a);
/* leaderboard.ended: the final podium, in the announcements channel and in the board's thread. */
void board_news_ended(struct announcement *a);
/* leaderboard.deleted: the end of its post. */
void board_news_deleted(struct announcement *a);

#endif
