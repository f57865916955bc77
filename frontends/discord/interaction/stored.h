/* SPDX-License-Identifier: MIT */
/* Reads what an earlier process left in the plugin's state. Loop thread. */
#pragma once

#include <jansson.h>

#include "discord/interaction/bot.h"

/* Whether an error of the plugin's state, or of the engine, may pass. */
bool stored_may_pass(const struct kettle_error *err);

typedef void (*stored_fn)(void *arg, const char *key, json_t *value);

/*
 * Reads all keys that begin with prefix, which must stay valid, page by page: calls each(arg) for every one, borrowed,
 * then done(arg), even if they cannot be read (logged) or the bot stops. Tries again after a passing failure, for which
 * bot->later must exist. done may be NULL, and may be called at once.
 */
void stored_each(struct bot *bot, const char *prefix, stored_fn each, kettle_fn done, void *arg);
