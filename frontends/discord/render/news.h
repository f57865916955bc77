/* SPDX-License-Identifier: MIT */
/* The bot's announcements: events and leaderboards as Markdown, with all names escaped. New strings. All [any]. */
#pragma once

#include <jansson.h>

/* leaderboard.podium: the places, and the changes. */
char *news_podium(const json_t *event);
/* leaderboard.ended: the final podium of each device. Its length grows with the devices: split it. */
char *news_ended(const json_t *event);
/*
 * A leaderboard, from an answer of leaderboard.show: its subject, and how to take part in the channel of that id ("":
 * in any). Fits into one message.
 */
char *news_board(const json_t *board, const char *submissions);
/* Replaces the post of a board that was deleted or (name NULL) is no longer public. */
char *news_board_gone(const char *name);
/* leaderboard.fault or leaderboard.renamed, for the board's creator and for operators. Fits into one message. */
char *news_creator(const json_t *event);
/* unit.*, storage.* and runner.*, for operators: a sentence. */
char *news_operators(const json_t *event);
