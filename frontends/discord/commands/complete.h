/* SPDX-License-Identifier: MIT */
/* Completes names while they are typed. */
#ifndef KETTLE_DISCORD_COMMANDS_COMPLETE_H
#define KETTLE_DISCORD_COMMANDS_COMPLETE_H

#include "discord/commands/table.h"

/* Answers a completion of an option of the command; NULL: the command is not known. Loop thread. */
void complete(struct interaction *interaction, const struct bot_command *command);

#endif
