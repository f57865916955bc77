/* SPDX-License-Identifier: MIT */
/* Tokens of GitHub, and when each may send: its rate limits, on a clock of the caller. All [any]. */
#ifndef KETTLE_GITHUB_TOKENS_H
#define KETTLE_GITHUB_TOKENS_H

#include <kettle/host.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TOKENS_MAX 64
#define TOKENS_CHANGE_MS 1000      /* between the end of one change of a token and the next, as GitHub wants it */
#define TOKENS_CHANGE_MAX_MS 10000 /* for which a change that has no answer keeps others waiting */
#define TOKENS_WAIT_MS 60000       /* where an answer limits without saying for how long; doubles each time */
#define TOKENS_WAIT_MAX_MS 3600000 /* GitHub's longest limit is an hour */
#define TOKENS_REFUSED_MS 600000   /* until a token that was refused is tried again */

struct token {
	char *text;
	uint64_t blocked_until, refused_until, change_at; /* ms */
	uint64_t changed_ms;                              /* when its newest change was sent */
	unsigned doublings;
	bool refused; /* its last answer */
};

struct tokens {
	struct token *tokens;
	size_t count;
};

/* What an answer means for the request that it belongs to. */
enum tokens_verdict {
	TOKENS_TAKEN,   /* it was carried out, or failed for another reason than the token */
	TOKENS_LIMITED, /* it was not carried out: later, or with another token */
	TOKENS_REFUSED, /* 401: with another token */
	TOKENS_HIDDEN,  /* 403 or 404: this token cannot do or see it, another one may */
};

/* Reads one token a line; empty lines are left out. EINVAL: none, too many, or one that cannot stand in a header. */
int tokens_read(struct tokens *tokens, const char *text, struct kettle_error *err);
/* Overwrites and frees the tokens. */
void tokens_free(struct tokens *tokens);
/*
 * The token that sends now: the first usable one from `first` on (as the others' order is a ring) that is not in `tried` (bits by
 * number). -1: none, and *ret_at is the time at which one may, UINT64_MAX where all were tried.
 */
int tokens_choose(
	const struct tokens *tokens, uint64_t now, bool change, size_t first, uint64_t tried, uint64_t *ret_at);
/* A request goes out by a token. */
void tokens_sent(struct tokens *tokens, size_t number, bool change, uint64_t now);
/* A change that was sent at sent_ms has ended, with or without an answer. One sent since keeps others waiting for its own end. */
void tokens_changed(struct tokens *tokens, size_t number, uint64_t sent_ms, uint64_t now);
/* Takes note of an answer. message: of its body, ""; wall_ms: time since 1970. */
enum tokens_verdict tokens_answered(struct tokens *tokens, size_t number, const struct kettle_http_answer *answer,
	const char *message, uint64_t now, int64_t wall_ms);
/* How many are refused at the moment. */
size_t tokens_refused(const struct tokens *tokens);

#endif
