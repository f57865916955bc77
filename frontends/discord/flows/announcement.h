/* SPDX-License-Identifier: MIT */
/*
 * One announced event, as a chain of steps: each step starts one row of the outbox or one question to the engine, and
 * the next step is called with its result. Loop thread.
 *
 * A step is called with success or with a permanent refusal; if the engine cannot answer now, the event starts again
 * after a while. Every chain ends with announcement_end. Events of one leaderboard are handled one after the other.
 */
#pragma once

#include <jansson.h>
#include <kettle/error.h>
#include <stdbool.h>
#include <stdint.h>

#include "discord/interaction/bot.h"
#include "discord/interaction/outbox.h"

struct announcement;
typedef void (*announcement_fn)(struct announcement *announcement);

/* The state of the bot's announcements. */
struct announce {
	struct bot *bot;
	struct announcement *first; /* those that have not ended, in the order of their events */
	json_t *told;               /* numbers of the last events whose messages have arrived; NULL: not read yet */
	bool started;
	uint64_t subscription; /* 0: none */
	char *full_since;      /* start of the last announced full disk; NULL: none */
};

struct announcement {
	struct announce *announce;
	struct bot *bot;
	struct announcement *next;
	json_t *event;
	const char *kind;  /* of the event */
	const char *queue; /* the name of the leaderboard; "": none */
	char *key;         /* identifies its messages */
	json_int_t seq;    /* 0: the event is not stored */
	int64_t at_ms;     /* wall clock: time of the event */
	unsigned tries;    /* earlier tries */
	bool running, posted;
	announcement_fn begin, step;
	/* The result of the last step. */
	struct kettle_error err; /* code 0: success */
	enum outbox_end end;     /* of a row */
	json_t *result;          /* the answer, or NULL */
	/* Data of the flows. */
	json_t *board; /* answer of leaderboard.show */
	announcement_fn after_post;
	json_t *item; /* of result_threads.c: the state of a thread */
	announcement_fn after_results;
	bool forgets;
	bool open; /* the board is public now */
};

/* Adds an event. It begins after announcement_start, when the earlier events of its leaderboard have ended. */
void announcement_add(struct announce *announce, const json_t *event, announcement_fn begin);
/* Begins the events that can begin. */
void announcement_start(struct announce *announce);
/* The bot stops: forgets waiting events; running ones end with their next answer. No event becomes done. */
void announcement_stop(struct announce *announce);

/* Calls a command as the bot; args is stolen. */
void announcement_call(struct announcement *a, const char *command, json_t *args_take, announcement_fn step);
/* Writes or (value NULL) removes a key of the state. */
void announcement_put(struct announcement *a, const char *key, const json_t *value, announcement_fn step);
/* Reads the first keys of the state that begin with prefix, at most `limit`, as host->state_list does. */
void announcement_list(struct announcement *a, const char *prefix, unsigned limit, announcement_fn step);
/*
 * Rows of the outbox: a request; a kept message or thread; and Markdown in as many messages as it needs, which are
 * identified by the event's key and this part.
 */
void announcement_request(
	struct announcement *a, const char *method, const char *path, json_t *body_take, announcement_fn step);
void announcement_keep(struct announcement *a, const struct outbox_kept *kept, announcement_fn step);
void announcement_post(
	struct announcement *a, const char *channel, const char *part, const char *markdown, announcement_fn step);
/* Logs that the last step was refused, with advice for the operator: "a leaderboard's post" in "the channel of …". */
void announcement_complain(const struct announcement *a, const char *what, const char *where);
/* Ends the announcement: the event is done. */
void announcement_end(struct announcement *a);
