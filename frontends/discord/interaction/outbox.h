/* SPDX-License-Identifier: MIT */
/*
 * The outbox: all that the bot sends to Discord, edits and deletes there, but for the first answer to an interaction and what it
 * asks at its start. Loop thread.
 *
 * A flow puts a row, which says what shall be there. Rows of one channel (of one kept thread, of one interaction) are carried out in
 * order, one at a time; what may pass is tried again with a growing wait while the bot runs. done gets how the row has ended, once,
 * perhaps before the function that put it returns. Of the edits that wait only the latest is sent.
 *
 * Over a crash. The next process puts the same row again, since the event that asks for it is not dealt with, and the outbox finds
 * out what is there. A message that is posted (outbox_post) has a nonce made of its key and channel, and is searched first where an
 * earlier try may have posted it. What is kept (outbox_keep) has the state "out/KEY", written before it is made and again when
 * Discord has said its number: {"channel", "since": when it was begun, "what": as it is there; of a message only until its number is
 * known, "id"?, "ping"?: the role that it calls}.
 */
#ifndef KETTLE_DISCORD_OUTBOX_H
#define KETTLE_DISCORD_OUTBOX_H

#include <jansson.h>
#include <kettle/error.h>
#include <stdbool.h>

#include "discord/interaction/bot.h"

enum outbox_end {
	OUTBOX_DONE,
	OUTBOX_MISSING, /* the message was deleted */
	OUTBOX_GONE,    /* the channel or thread was deleted */
	OUTBOX_EXPIRED, /* the interaction takes no more answers */
	OUTBOX_CLOSED,  /* the user takes no direct messages */
	OUTBOX_REFUSED, /* anything else that would be refused again */
	OUTBOX_STOPPED, /* the bot stops, and the next process puts the row again */
};

/* How a row has ended; borrowed for the call. */
struct outbox_answer {
	enum outbox_end end;
	const struct kettle_error *err; /* code 0: OUTBOX_DONE */
	const char *id;                 /* of the message or thread, of several messages the last; NULL: there is none */
	const json_t *body;             /* of Discord's answer to a request, or NULL */
};
typedef void (*outbox_fn)(void *arg, const struct outbox_answer *answer);

/* Reads what is kept, then done(arg), also where it cannot be read (logged). */
struct outbox *outbox_new(struct bot *bot, kettle_fn done, void *arg);
/* NULL is allowed. After rest_free and later_stop, with which all rows have ended but those that wait for the state. */
void outbox_free(struct outbox *outbox);

/*
 * Posts messages in a channel, each of them once for this key. since_ms: wall clock, when what they tell of happened; where that is
 * before the bot's start, an earlier process may have posted them. After a refusal the rest is left out.
 */
void outbox_post(struct bot *bot, const char *channel, const char *key, int64_t since_ms, json_t *messages_take,
	outbox_fn done, void *arg);

struct outbox_kept {
	const char *key;
	const char *channel; /* where it is made */
	/*
	 * A message, or a thread: {"name", "type"?, …: what makes it, "message"?: its first one, in a forum, "archived"?, "locked"?}. What a
	 * thread does not say stays as it is.
	 */
	json_t *what_take;
	const char *ping;  /* the role that is called when it is made, or NULL */
	const char *user;  /* who is let into the thread, or NULL */
	bool only_changed; /* it is not made: OUTBOX_GONE where it is not there */
};
/* Makes it, or makes it what it shall be. true: done will be called for it; false: a row that waits has its state now. */
bool outbox_keep(struct bot *bot, const struct outbox_kept *kept, outbox_fn done, void *arg);
/* What is kept of a key; NULL: nothing was begun. Borrowed. */
json_t *outbox_known(const struct bot *bot, const char *key);
/* The number of what is there; "": none is. Borrowed. */
const char *outbox_id(const struct bot *bot, const char *key);
/* Forgets what is kept of a key, and of all that begin with it and a slash. */
void outbox_forget(struct bot *bot, const char *key);

/* Any other request, which may be carried out twice; body_take may be NULL. */
void outbox_request(
	struct bot *bot, const char *method, const char *path, json_t *body_take, outbox_fn done, void *arg);
void outbox_archive(struct bot *bot, const char *thread, outbox_fn done, void *arg);

/*
 * An answer to an interaction, by its token, until expires_ms (wall clock). A PATCH is an edit, of which the latest counts (as
 * outbox_keep returns); a POST, which Discord does not recognise, is tried once.
 */
bool outbox_answer(struct bot *bot, const char *method, const char *path, const char *token, int64_t expires_ms,
	json_t *message_take, outbox_fn done, void *arg);

#endif
