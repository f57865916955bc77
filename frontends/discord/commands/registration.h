/* SPDX-License-Identifier: MIT */
/* Tells Discord which commands there are. */
#ifndef KETTLE_DISCORD_COMMANDS_REGISTRATION_H
#define KETTLE_DISCORD_COMMANDS_REGISTRATION_H

#include <jansson.h>
#include <kettle/host.h>

#include "discord/interaction/bot.h"

/* The rows of a table (commands/table.h) as Discord takes them; core: host->commands. New reference. */
json_t *registration_commands(const struct bot_command *rows, const json_t *core);
/*
 * Registers the bot's commands in the guild, if those that are there differ. done(arg, failed, text) says what happened in a
 * sentence (borrowed), exactly once. Loop thread; the application's id must be known.
 */
void registration_update(struct bot *bot, void (*done)(void *arg, bool failed, const char *text), void *arg);

#endif
