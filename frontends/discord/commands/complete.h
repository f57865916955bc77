/* SPDX-License-Identifier: MIT */
/* Completes names while they are typed. */
#ifndef KETTLE_DISCORD_COMMANDS_COMPLETE_H
#define KETTLE_DISCORD_COMMANDS_COMPLETE_H

#include "discord/interaction/interaction.h"

/* Answers a completion, by the name of the option that is typed. Loop thread. */
void complete(struct interaction *interaction);

#endif
