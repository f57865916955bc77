/* SPDX-License-Identifier: MIT */
/* What the bot tells by itself: events and leaderboards as Markdown, with all names escaped. New strings. All [any]. */
#ifndef KETTLE_DISCORD_RENDER_NEWS_H
#define KETTLE_DISCORD_RENDER_NEWS_H

#include <jansson.h>

/* leaderboard.podium: who has which place, and what has changed. */
char *news_podium(const json_t *event);
/* leaderboard.ended: the final podium of each device. As long as there are devices: split it. */
char *news_ended(const json_t *event);
/* A leaderboard, as leaderboard.show answers it: what it is about, and how to take part in the channel of that id ("": in
 * any). It fits into one message. */
char *news_board(const json_t *board, const char *submissions);
/* In place of a board that was deleted, or, name NULL, of one that is not public any more. */
char *news_board_gone(const char *name);
/* leaderboard.fault, for the board's creator and for operators. Fits into one message. */
char *news_fault(const json_t *event);
/* unit.*, storage.* and runner.*, for operators: a sentence. */
char *news_operators(const json_t *event);

#endif
