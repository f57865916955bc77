/* SPDX-License-Identifier: MIT */
/*
 * The bot's announcements: podiums and the end of leaderboards in public, a post of each board, faults to the users
 * who can mend them. Each message comes once, over restarts and crashes: an event is done (event_done) when its
 * messages have arrived or are refused for good, which is logged. Loop thread.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "discord/interaction/bot.h"

struct announce;

/* Call this when the bot's account and the guild's roles are known. bot outlives the result. */
struct announce *announce_new(struct bot *bot);
/*
 * Takes a stored event (borrowed) and calls event_done itself, perhaps before this returns. false: it announces no
 * such event.
 */
bool announce_event(struct bot *bot, const json_t *event);
/* Makes posts for active public boards that have none in the forum yet, such as boards older than the bot. */
void announce_boards(struct bot *bot);
/* Brings what the server has of a board up to date: its post, and its results if the board is no longer public. */
void announce_board(struct bot *bot, json_int_t id, const char *name);
/*
 * Stops announcing, after the bot's requests have ended. Events that are not done come again after a restart. NULL is
 * allowed.
 */
void announce_stop(struct announce *announce);
/* Call this when no answer of the engine can come any more. NULL is allowed. */
void announce_free(struct announce *announce);
