/* SPDX-License-Identifier: MIT */
/*
 * The outbox: everything that the bot sends, edits and deletes on Discord, except the first answer to an interaction
 * and its questions at the start. Loop thread.
 *
 * A flow puts a row, which describes a message or thread. Rows of one channel (of one kept thread, of one interaction)
 * are carried out in order, one at a time. Failures that may pass are tried again with a growing wait while the bot
 * runs. done gets the end of the row, once, perhaps before the function that put it returns. Of several waiting edits
 * only the latest is sent.
 *
 * After a crash the next process puts the same row again, since its event is not done, and the outbox finds out what
 * exists. A posted message (outbox_post) has a nonce made of its key and channel; if an earlier try may have posted
 * it, the outbox first looks for it. A kept message or thread (outbox_keep) has the state "out/KEY", written before it
 * is made and again when Discord has told its number: {"channel", "since": when it was begun, "what": its present
 * contents (for a message only until its number is known), "id"?, "ping"?: the role that it notifies}.
 */
#pragma once

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
	OUTBOX_REFUSED, /* another permanent refusal */
	OUTBOX_STOPPED, /* the bot stops; the next process puts the row again */
};

/* The end of a row; borrowed for the call. */
struct outbox_answer {
	enum outbox_end end;
	const struct kettle_error *err; /* code 0: OUTBOX_DONE */
	const char *id;                 /* of the message or thread, of several messages the last; NULL: none */
	const json_t *body;             /* of Discord's answer to a request, or NULL */
};
typedef void (*outbox_fn)(void *arg, const struct outbox_answer *answer);

/* Reads the state, then calls done(arg), even if it cannot be read (logged). */
struct outbox *outbox_new(struct bot *bot, kettle_fn done, void *arg);
/*
 * Call this after rest_free and later_stop, which end all rows except those that wait for the state. NULL is allowed.
 */
void outbox_free(struct outbox *outbox);

/*
 * Posts messages in a channel, each once for this key. since_ms: wall clock, time of the event; if that is before the
 * bot's start, an earlier process may have posted them. After a refusal the rest is left out.
 */
void outbox_post(struct bot *bot, const char *channel, const char *key, int64_t since_ms, json_t *messages_take,
	outbox_fn done, void *arg);

struct outbox_kept {
	const char *key;
	const char *channel; /* where it is made */
	/*
	 * A message, or a thread: {"name", "type"?, …: what makes it, "message"?: its first one, in a forum, "archived"?,
	 * "locked"?}. Members that a thread does not have stay unchanged.
	 */
	json_t *what_take;
	const char *ping;  /* the role that a new one notifies, or NULL */
	const char *user;  /* the user to add to the thread, or NULL */
	bool only_changed; /* only change it: OUTBOX_GONE if it does not exist */
};
/*
 * Makes the message or thread, or changes it. true: done will be called for this row; false: a waiting row has taken
 * its contents.
 */
bool outbox_keep(struct bot *bot, const struct outbox_kept *kept, outbox_fn done, void *arg);
/* The state of a key; NULL: nothing was begun. Borrowed. */
json_t *outbox_known(const struct bot *bot, const char *key);
/* The number of the message or thread; "": none. Borrowed. */
const char *outbox_id(const struct bot *bot, const char *key);
/* Forgets a key, and all keys that begin with it and a slash. */
void outbox_forget(struct bot *bot, const char *key);

/* Any other request, which may be carried out twice; body_take may be NULL. */
void outbox_request(
	struct bot *bot, const char *method, const char *path, json_t *body_take, outbox_fn done, void *arg);
void outbox_archive(struct bot *bot, const char *thread, outbox_fn done, void *arg);

/*
 * Answers an interaction by its token, until expires_ms (wall clock). PATCH is an edit, of which only the latest is
 * sent (returns like outbox_keep). POST, which Discord cannot recognise, is tried once.
 */
bool outbox_answer(struct bot *bot, const char *method, const char *path, const char *token, int64_t expires_ms,
	json_t *message_take, outbox_fn done, void *arg);
