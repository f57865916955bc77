/* SPDX-License-Identifier: MIT */
/* Registers the bot's commands at Discord. */
#pragma once

#include <jansson.h>
#include <kettle/host.h>

#include "discord/interaction/bot.h"

/* The rows of a table (commands/table.h) in Discord's form; core: host->commands. New reference. */
json_t *registration_commands(const struct bot_command *rows, const json_t *core);
/*
 * Registers the bot's commands in the guild if they differ from Discord's. Calls done(arg, failed, text) exactly once,
 * with the outcome as a sentence (borrowed). Loop thread; the application's id must be known.
 */
void registration_update(struct bot *bot, void (*done)(void *arg, bool failed, const char *text), void *arg);
