/* SPDX-License-Identifier: MIT */
/* Sends messages: what render/message.h makes becomes a request of rest/. Loop thread. */
#ifndef KETTLE_DISCORD_SEND_H
#define KETTLE_DISCORD_SEND_H

#include <jansson.h>
#include <stdbool.h>

#include "discord/interaction/bot.h"
#include "discord/rest/rest.h"

/*
 * Sends a request; body_take may be NULL. "files" of a body that is a message (of a callback: has one in "data") become uploads.
 * done may be NULL: a failure is then logged. It is called exactly once, at once where the request cannot be queued.
 */
void send_request(struct bot *bot, const char *method, const char *path, json_t *body_take, rest_fn done, void *arg);
/* The same for the outbox, which repeats a request itself after a fault. */
void send_once(struct bot *bot, const char *method, const char *path, json_t *body_take, rest_fn done, void *arg);

#endif
