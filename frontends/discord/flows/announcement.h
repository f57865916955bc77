/* SPDX-License-Identifier: MIT */
/*
 * One event that the bot tells of, as a chain of steps: each begins one row of the outbox or one question to the engine, and the
 * next one is called with what came of it. Loop thread.
 *
 * A step is called with success or with a refusal that would come again: what the engine cannot answer now makes the event begin
 * anew after a while. Every chain ends with announcement_end. Events of one leaderboard are dealt with one after the other.
 */
#ifndef KETTLE_DISCORD_ANNOUNCEMENT_H
#define KETTLE_DISCORD_ANNOUNCEMENT_H

#include <jansson.h>
#include <kettle/error.h>
#include <stdbool.h>
#include <stdint.h>

#include "discord/interaction/bot.h"
#include "discord/interaction/outbox.h"

struct announcement;
typedef void (*announcement_fn)(struct announcement *announcement);

/* What the bot keeps of its announcements. */
struct announce {
	struct bot *bot;
	struct announcement *first; /* those that have not ended, in the order of their events */
	json_t *told;               /* numbers of the last events whose messages have arrived; NULL: not read yet */
	bool started;
	uint64_t subscription; /* 0: none */
	char *full_since;      /* of the last full disk that was told of; NULL: none */
};

struct announcement {
	struct announce *announce;
	struct bot *bot;
	struct announcement *next;
	json_t *event;
	const char *kind;  /* of the event */
	const char *queue; /* the name of the leaderboard; "": none */
	char *key;         /* what its messages are recognised by */
	json_int_t seq;    /* 0: the event is not stored */
	int64_t at_ms;     /* wall clock: when it happened */
	unsigned tries;    /* before this one */
	bool running, posted;
	announcement_fn begin, step;
	/* What came of the last step. */
	struct kettle_error err; /* code 0: success */
	enum outbox_end end;     /* of a row */
	json_t *result;          /* what was answered, or NULL */
	/* What the flows keep. */
	json_t *board; /* as leaderboard.show has it */
	announcement_fn after_post;
	json_t *item; /* of result_threads.c: what the state has of a thread */
	announcement_fn after_results;
	bool forgets;
	bool open; /* the board is public now */
};

/* Adds an event; it begins when announcement_start was called and those of its leaderboard before it have ended. */
void announcement_add(struct announce *announce, const json_t *event, announcement_fn begin);
/* Begins what may begin. */
void announcement_start(struct announce *announce);
/* The bot stops: forgets what waits; what is under way ends with its next answer. Nothing of it is dealt with. */
void announcement_stop(struct announce *announce);

/* Calls a command as the bot; args is stolen. */
void announcement_call(struct announcement *a, const char *command, json_t *args_take, announcement_fn step);
/* Writes or (value NULL) removes a key of the state. */
void announcement_put(struct announcement *a, const char *key, const json_t *value, announcement_fn step);
/* Reads the first keys of the state that begin with prefix, at most `limit`, as host->state_list does. */
void announcement_list(struct announcement *a, const char *prefix, unsigned limit, announcement_fn step);
/* Rows of the outbox: a request, a message or thread that is kept, and Markdown in as many messages as it needs, which are
 * recognised by the event's key and this part of it. */
void announcement_request(
	struct announcement *a, const char *method, const char *path, json_t *body_take, announcement_fn step);
void announcement_keep(struct announcement *a, const struct outbox_kept *kept, announcement_fn step);
void announcement_post(
	struct announcement *a, const char *channel, const char *part, const char *markdown, announcement_fn step);
/* Logs that the last step was refused, with what the operator must do: "a leaderboard's post" in "the channel of …". */
void announcement_complain(const struct announcement *a, const char *what, const char *where);
/* The event is dealt with. */
void announcement_end(struct announcement *a);

#endif
