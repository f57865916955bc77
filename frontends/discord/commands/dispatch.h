/* SPDX-License-Identifier: MIT */
/* Finds what an interaction is for, and starts it. */
#ifndef KETTLE_DISCORD_COMMANDS_DISPATCH_H
#define KETTLE_DISCORD_COMMANDS_DISPATCH_H

#include <jansson.h>

#include "discord/interaction/bot.h"

/* An interaction from the gateway or the endpoint, as Discord sent it (borrowed). Loop thread. */
void dispatch_interaction(struct bot *bot, const json_t *data);

#endif
