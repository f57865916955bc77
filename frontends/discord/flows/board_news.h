/* SPDX-License-Identifier: MIT */
/* Public announcements about leaderboards: nothing about boards that are not public or not open yet. Loop thread. */
#ifndef KETTLE_DISCORD_BOARD_NEWS_H
#define KETTLE_DISCORD_BOARD_NEWS_H

#include "discord/flows/announcement.h"

/* leaderboard.created, opened, updated: refreshes the board's post. */
void board_news_changed(struct announcement *a);
/* leaderboard.podium of an active board: posts in the announcements channel. */
void board_news_podium(struct announcement *a);
/* leaderboard.ended: posts the final podium in the announcements channel and in the board's thread. */
void board_news_ended(struct announcement *a);
/* leaderboard.deleted: closes the board's post. */
void board_news_deleted(struct announcement *a);

#endif
