/* SPDX-License-Identifier: MIT */
/* Sends messages: turns those of render/message.h into requests of rest/. Loop thread. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "discord/interaction/bot.h"
#include "discord/rest/rest.h"

/*
 * Sends a request; body_take may be NULL. "files" of a body that is a message (of a callback: that has one in "data")
 * become uploads. Calls done exactly once, at once if the request cannot be queued; NULL: failures are logged.
 */
void send_request(struct bot *bot, const char *method, const char *path, json_t *body_take, rest_fn done, void *arg);
/* The same for the outbox, which itself repeats a request after a fault. */
void send_once(struct bot *bot, const char *method, const char *path, json_t *body_take, rest_fn done, void *arg);
