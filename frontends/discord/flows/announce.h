/* SPDX-License-Identifier: MIT */
/*
 * What the bot tells by itself: podiums and the end of leaderboards in public, a post of each board, faults to those who can mend
 * them. Each message comes once, over restarts and crashes: an event is dealt with (event_done) when its messages have arrived, or
 * are refused for good, which is logged. Loop thread.
 */
#ifndef KETTLE_DISCORD_ANNOUNCE_H
#define KETTLE_DISCORD_ANNOUNCE_H

#include <jansson.h>
#include <stdbool.h>

#include "discord/interaction/bot.h"

struct announce;

/* When the bot's account and the guild's roles are known. bot outlives it. */
struct announce *announce_new(struct bot *bot);
/* Takes a stored event, which is borrowed, and says event_done itself, perhaps in this call. false: the event is not of its kinds. */
bool announce_event(struct bot *bot, const json_t *event);
/* Active public boards that have no post in the forum yet get one, such as those that are older than the bot. */
void announce_boards(struct bot *bot);
/* The bot is stopping, its requests have ended: what was not dealt with comes again after a restart. NULL is allowed. */
void announce_stop(struct announce *announce);
/* When no answer of the engine is to come any more. NULL is allowed. */
void announce_free(struct announce *announce);

#endif
