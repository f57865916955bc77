/* SPDX-License-Identifier: MIT */
/* Checks that the guild has the channels and roles that the options name. */
#ifndef KETTLE_DISCORD_PLACES_H
#define KETTLE_DISCORD_PLACES_H

#include "discord/interaction/bot.h"

/* Logs a warning for each missing one, when Discord has answered. The roles must be known. Loop thread. */
void places_check(struct bot *bot);

#endif
