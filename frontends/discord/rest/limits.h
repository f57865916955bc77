/* SPDX-License-Identifier: MIT */
/*
 * Discord's limits: buckets, which Discord names in its answers, the requests of a second, and invalid answers. Times are
 * milliseconds of one monotonic clock.
 */
#pragma once

#include "discord/rest/route.h"

#include <kettle/host.h>
#include <stdint.h>

struct limits;
struct bucket; /* valid while a request counted in it is under way */

#define LIMITS_ANSWER UINT64_MAX /* wait for the next answer, not for a time */

/* per_second, invalid_max: see rest_rules. wait_max_ms: the longest wait that is accepted. */
struct limits *limits_new(unsigned per_second, unsigned invalid_max, unsigned wait_max_ms);
void limits_free(struct limits *limits);
/*
 * How long all requests with the bot's token must wait: for the second, for a pause, or until invalid answers are
 * forgotten. 0: no wait.
 */
uint64_t limits_overall(struct limits *limits, uint64_t now);
/* The time that a request of this route must wait for its bucket. 0: no wait; LIMITS_ANSWER. */
uint64_t limits_wait(struct limits *limits, const struct route *route, uint64_t now);
/* Counts a request that is sent now. Pass the bucket to limits_answered, once; NULL: the route has none. */
struct bucket *limits_sent(struct limits *limits, const struct route *route, uint64_t now);
/* Learns from an answer; NULL: there was none. */
void limits_answered(struct limits *limits, struct bucket *sent, const struct route *route,
	const struct kettle_http_answer *answer, uint64_t now);
/* Handles a 429: blocks this route, or (global) all requests with the bot's token, for wait_ms. */
void limits_block(struct limits *limits, const struct route *route, bool global, uint64_t wait_ms, uint64_t now);
/* Counts an answer that Discord calls invalid. true: it begins a pause. */
bool limits_invalid(struct limits *limits, uint64_t now);
