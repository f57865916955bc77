/* SPDX-License-Identifier: MIT */
/* Sends messages: what render/message.h makes becomes a request of rest/. Loop thread. */
#ifndef KETTLE_DISCORD_SEND_H
#define KETTLE_DISCORD_SEND_H

#include <jansson.h>
#include <stdbool.h>

#include "discord/interaction/bot.h"
#include "discord/rest/rest.h"

/*
 * Sends a request whose body is a message (a callback: has one in "data"), whose "files" become uploads. done may be NULL: a
 * failure is then logged. It is called exactly once, at once where the request cannot be queued.
 */
void send_message(struct bot *bot, const char *method, const char *path, json_t *body_take, rest_fn done, void *arg);
/* The same without files; body_take may be NULL. */
void send_request(struct bot *bot, const char *method, const char *path, json_t *body_take, rest_fn done, void *arg);

/*
 * Whether a failure may pass, so that the same request is worth another try: a fault, too many requests, or the bot's refused
 * token (401, and from then on what is not even sent), which may be replaced before the next start. The token of an interaction
 * is never replaced: its 401 does not pass.
 */
bool send_may_pass(const struct rest_answer *answer);

/* The message that is there now, or err->code is not 0: EUNAVAIL: it may be tried again; ECANCELED: the bot stops; others:
 * it cannot be posted there (logged). Borrowed. */
typedef void (*send_posted_fn)(void *arg, const struct kettle_error *err, const char *id);

enum send_mode {
	SEND_ONCE,  /* searched first only where since_ms is before the bot's start */
	SEND_AGAIN, /* an earlier try of this process may have posted it: the recent messages are searched first */
	SEND_FIND,  /* it is searched, and not posted: KETTLE_ENOENT where it is not there */
};

/*
 * Posts a message in a channel exactly once for this key, over restarts: with a nonce made of key and channel, and where an
 * earlier try may have posted it, the channel's recent messages are searched for it first. since_ms: wall clock, when what it
 * tells of happened.
 */
void send_once(struct bot *bot, enum send_mode mode, const char *channel, const char *key, int64_t since_ms,
	json_t *message_take, send_posted_fn done, void *arg);

/*
 * The same for a caller that must know why it failed; nothing is logged. done gets the message, with its "id", or the error of
 * posting or of searching; where the bot may not read the channel, the message is posted without a search.
 */
void send_once_answer(struct bot *bot, enum send_mode mode, const char *channel, const char *key, int64_t since_ms,
	json_t *message_take, rest_fn done, void *arg);

#endif
