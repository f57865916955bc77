/* SPDX-License-Identifier: MIT */
/* Options that are arguments of the core's commands: their names, kinds, texts and choices come from the command table. */
#pragma once

#include <jansson.h>

#include "discord/commands/table.h"

/* The bot's description of a command: its own text, or the core's. New string. */
char *options_help(const struct bot_command *command, const json_t *core);
/*
 * Whether only admins may use a command: all of /admin, parts of which the core allows creators, and commands that the
 * core allows only admins.
 */
bool options_for_admins(const struct bot_command *command, const json_t *core);
/*
 * The options of a command in Discord's form, required ones first; "argument" is the core's, if the option is one.
 * core: the command table as data. New reference.
 */
json_t *options_of(const struct bot_command *command, const json_t *core);
/* The arguments for the core's command: the given options, and the command's additions. New reference. */
json_t *options_args(const struct bot_command *command, const struct interaction *interaction);
