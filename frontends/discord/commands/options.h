/* SPDX-License-Identifier: MIT */
/* Options that are arguments of the core's commands: their names, kinds, texts and choices come from the command table. */
#ifndef KETTLE_DISCORD_COMMANDS_OPTIONS_H
#define KETTLE_DISCORD_COMMANDS_OPTIONS_H

#include <jansson.h>

#include "discord/commands/table.h"

/* What the bot says of a command: its own text, or that of the core's command. New string. */
char *options_help(const struct bot_command *command, const json_t *core);
/* Whether only admins may use it: all of /admin, which the core lets creators use in part, and what the core lets admins use alone. */
bool options_for_admins(const struct bot_command *command, const json_t *core);
/*
 * The options of a command as Discord takes them, required ones first; "argument" is the core's, of those that are one. core: the
 * command table as data. New reference.
 */
json_t *options_of(const struct bot_command *command, const json_t *core);
/* The arguments for the core's command: the options that were given, and what the command adds. New reference. */
json_t *options_args(const struct bot_command *command, const struct interaction *interaction);

#endif
