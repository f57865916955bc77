/* SPDX-License-Identifier: MIT */
/* Tokens of GitHub, and when each may send: its rate limits, on the caller's clock. All [any]. */
#ifndef KETTLE_GITHUB_TOKENS_H
#define KETTLE_GITHUB_TOKENS_H

#include <kettle/host.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TOKENS_MAX 64
#define TOKENS_CHANGE_MS 1000      /* between the end of one change of a token and the next, as GitHub requires */
#define TOKENS_CHANGE_MAX_MS 10000 /* for which a change without an answer makes others wait */
#define TOKENS_WAIT_MS 60000       /* after an answer that limits without a time; doubles each time */
#define TOKENS_WAIT_MAX_MS 3600000 /* GitHub's longest limit is an hour */
#define TOKENS_REFUSED_MS 600000   /* until a token that was refused is tried again */

struct token {
	char *text;
	uint64_t blocked_until, refused_until, change_at; /* ms */
	uint64_t changed_ms;                              /* when its newest change was sent */
	unsigned doublings;
	bool refused; /* by its last answer */
};

struct tokens {
	struct token *tokens;
	size_t count;
};

/* The meaning of an answer for its request. */
enum tokens_verdict {
	TOKENS_TAKEN,   /* carried out, or failed for a reason other than the token */
	TOKENS_LIMITED, /* not carried out: send later, or with another token */
	TOKENS_REFUSED, /* 401: send with another token */
	TOKENS_HIDDEN,  /* 403 or 404: this token cannot do or see it, another one may */
};

/* Reads one token a line; skips empty lines. EINVAL: none, too many, or one that cannot be in a header. */
int tokens_read(struct tokens *tokens, const char *text, struct kettle_error *err);
/* Overwrites and frees the tokens. */
void tokens_free(struct tokens *tokens);
/*
 * Chooses the token that sends now: from `first` on, in a ring, the first usable one whose bit is not in `tried`.
 * Returns its number; -1: none, and *ret_at is the time at which one may send, UINT64_MAX if all were tried.
 */
int tokens_choose(
	const struct tokens *tokens, uint64_t now, bool change, size_t first, uint64_t tried, uint64_t *ret_at);
/* Records that a request was sent with a token. */
void tokens_sent(struct tokens *tokens, size_t number, bool change, uint64_t now);
/*
 * Records that a change sent at sent_ms has ended, with or without an answer. A later change makes others wait until
 * its own end.
 */
void tokens_changed(struct tokens *tokens, size_t number, uint64_t sent_ms, uint64_t now);
/* Records an answer and returns its meaning. message: of its body, ""; wall_ms: time since 1970. */
enum tokens_verdict tokens_answered(struct tokens *tokens, size_t number, const struct kettle_http_answer *answer,
	const char *message, uint64_t now, int64_t wall_ms);
/* The number of tokens that are refused now. */
size_t tokens_refused(const struct tokens *tokens);

#endif
