/* SPDX-License-Identifier: MIT */
/* Finds the handler of an interaction, and calls it. */
#pragma once

#include <jansson.h>

#include "discord/interaction/bot.h"

/* Handles an interaction from the gateway or the endpoint, in Discord's form (borrowed). Loop thread. */
void dispatch_interaction(struct bot *bot, const json_t *data);
