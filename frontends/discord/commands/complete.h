/* SPDX-License-Identifier: MIT */
/* Completes names that a user types. */
#ifndef KETTLE_DISCORD_COMMANDS_COMPLETE_H
#define KETTLE_DISCORD_COMMANDS_COMPLETE_H

#include "discord/interaction/interaction.h"

/* Answers a completion, according to the option that the user types. Loop thread. */
void complete(struct interaction *interaction);

#endif
