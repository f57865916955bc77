/* SPDX-License-Identifier: MIT */
/* Discord's limits: buckets, the requests of a second, invalid answers. */
#include <config.h>

#include "discord/rest/limits.h"

#include "base/base.h"
#include "base/number.h"

#define CHAINS 256
#define SWEEP_LEAST 512     /* buckets, above which expired ones are freed */
#define BUCKET_NAME_MAX 100 /* bytes of Discord's name for a bucket */
#define BUCKET_LIMIT_MAX 10000
#define ROUTES_MAX 1000 /* routes whose bucket name is kept */
#define SECOND_MS 1050  /* requests sent within a second may arrive a little closer together */
#define INVALID_MS 600000

/* Events of the last span_ms, at most `most` of them. */
struct window {
	uint64_t *times; /* a ring; UINT64_MAX: none yet */
	unsigned most, next;
	uint64_t span_ms;
};

struct bucket {
	struct bucket *chain;
	char *key;
	bool known; /* Discord has told its limits */
	unsigned limit, remaining;
	uint64_t reset_at; /* time at which `remaining` becomes `limit`; 0: the next answer tells */
	unsigned under_way;
};

struct limits {
	struct bucket *chains[CHAINS];
	size_t count, sweep_at;
	json_t *names; /* a route's name → the name of its bucket */
	struct window second, invalid;
	uint64_t paused_until;
	uint64_t wait_max;
};

static struct window
window_new(unsigned most, uint64_t span_ms)
{
	struct window window = {.times = xcalloc(most, sizeof(uint64_t)), .most = most, .span_ms = span_ms};
	for (unsigned i = 0; i < most; i++)
		window.times[i] = UINT64_MAX;
	return window;
}

/* Returns the time until the window has room. */
static uint64_t
window_wait(const struct window *window, uint64_t now)
{
	uint64_t oldest = window->times[window->next];
	return oldest == UINT64_MAX || now >= oldest + window->span_ms ? 0 : oldest + window->span_ms - now;
}

static void
window_add(struct window *window, uint64_t now)
{
	window->times[window->next] = now;
	window->next = (window->next + 1) % window->most;
}

struct limits *
limits_new(unsigned per_second, unsigned invalid_max, unsigned wait_max_ms)
{
	struct limits *limits = xnew(struct limits, .names = json_object(), .second = window_new(per_second, SECOND_MS),
		.invalid = window_new(invalid_max, INVALID_MS), .sweep_at = SWEEP_LEAST, .wait_max = wait_max_ms);
	return limits;
}

/* Frees all buckets, or (all false) those that have expired with no request under way. */
static void
sweep(struct limits *limits, bool all, uint64_t now)
{
	for (size_t i = 0; i < CHAINS; i++)
		for (struct bucket **at = &limits->chains[i], *bucket; (bucket = *at);) {
			if (!all && (bucket->under_way > 0 || bucket->reset_at > now)) {
				at = &bucket->chain;
				continue;
			}
			*at = bucket->chain;
			free_all(bucket->key, bucket);
			limits->count--;
		}
	limits->sweep_at = 2 * limits->count + SWEEP_LEAST;
}

void
limits_free(struct limits *limits)
{
	sweep(limits, true, 0);
	json_decref(limits->names);
	free_all(limits->second.times, limits->invalid.times, limits);
}

/* Whether requests of a route have a bucket. Callbacks have none: each has an interaction of its own. */
static bool
has_bucket(const struct route *route)
{
	return route->class == ROUTE_BOT || route->class == ROUTE_FOLLOW_UP;
}

/* Finds the bucket of a route, by Discord's name if it is known. create: makes it if there is none; else NULL. */
static struct bucket *
find(struct limits *limits, const struct route *route, bool create, uint64_t now)
{
	const char *name = json_string_value(json_object_get(limits->names, route->name));
	AUTO_FREE char *key = xasprintf("%s\n%s", name ? name : route->name, route->major);
	size_t chain = 0;
	for (const char *at = key; *at; at++)
		chain = (chain * 31 + (unsigned char)*at) % CHAINS;
	for (struct bucket *bucket = limits->chains[chain]; bucket; bucket = bucket->chain)
		if (strcmp(bucket->key, key) == 0)
			return bucket;
	if (!create)
		return NULL;
	if (limits->count >= limits->sweep_at)
		sweep(limits, false, now);
	struct bucket *bucket = xnew(struct bucket, .key = STEAL(key), .chain = limits->chains[chain]);
	limits->chains[chain] = bucket;
	limits->count++;
	return bucket;
}

uint64_t
limits_overall(struct limits *limits, uint64_t now)
{
	uint64_t pause = limits->paused_until > now ? limits->paused_until - now : 0;
	uint64_t second = window_wait(&limits->second, now), invalid = window_wait(&limits->invalid, now);
	uint64_t longest = pause > second ? pause : second;
	return longest > invalid ? longest : invalid;
}

uint64_t
limits_wait(struct limits *limits, const struct route *route, uint64_t now)
{
	struct bucket *bucket = has_bucket(route) ? find(limits, route, false, now) : NULL;
	if (!bucket)
		return 0;
	if (!bucket->known)
		return bucket->under_way > 0 ? LIMITS_ANSWER : 0;
	bool over = bucket->reset_at > 0 && now >= bucket->reset_at;
	/* No answer has come for the requests sent, so a single request may try. */
	bool lost = bucket->reset_at == 0 && bucket->under_way == 0 && bucket->remaining == 0;
	if (over || lost) {
		bucket->remaining = lost ? 1 : bucket->limit > bucket->under_way ? bucket->limit - bucket->under_way : 0;
		bucket->reset_at = 0;
	}
	if (bucket->remaining > 0)
		return 0;
	return bucket->reset_at > now ? bucket->reset_at - now : LIMITS_ANSWER;
}

struct bucket *
limits_sent(struct limits *limits, const struct route *route, uint64_t now)
{
	if (route->class == ROUTE_BOT)
		window_add(&limits->second, now);
	if (!has_bucket(route))
		return NULL;
	struct bucket *bucket = find(limits, route, true, now);
	bucket->under_way++;
	if (bucket->remaining > 0)
		bucket->remaining--;
	return bucket;
}

/* Reads a number from 0 to max in a header; false: there is none. */
static bool
header_number(const struct kettle_http_answer *answer, const char *name, double max, double *ret_number)
{
	double number;
	if (!number_parse(kettle_http_header(answer, name), &number) || number < 0)
		return false;
	*ret_number = number < max ? number : max;
	return true;
}

void
limits_answered(struct limits *limits, struct bucket *sent, const struct route *route,
	const struct kettle_http_answer *answer, uint64_t now)
{
	double limit, remaining, seconds;
	if (!sent)
		return;
	sent->under_way--;
	const char *name = answer ? kettle_http_header(answer, "x-ratelimit-bucket") : NULL;
	if (!name || strlen(name) > BUCKET_NAME_MAX ||
		!header_number(answer, "x-ratelimit-limit", BUCKET_LIMIT_MAX, &limit) ||
		!header_number(answer, "x-ratelimit-remaining", BUCKET_LIMIT_MAX, &remaining) ||
		!header_number(answer, "x-ratelimit-reset-after", (double)limits->wait_max / 1000, &seconds))
		return;
	if (json_object_size(limits->names) >= ROUTES_MAX)
		json_object_clear(limits->names);
	/* A name that is not UTF-8 is refused, and the bucket keeps the route's name. */
	(void)json_object_set_new(limits->names, route->name, json_string(name));
	struct bucket *bucket = find(limits, route, true, now);
	bucket->known = true;
	bucket->limit = limit < 1 ? 1 : (unsigned)limit;
	bucket->remaining = remaining > bucket->under_way ? (unsigned)remaining - bucket->under_way : 0;
	bucket->reset_at = now + (uint64_t)(seconds * 1000) + 1;
}

void
limits_block(struct limits *limits, const struct route *route, bool global, uint64_t wait_ms, uint64_t now)
{
	uint64_t until = now + (wait_ms < limits->wait_max ? wait_ms : limits->wait_max);
	if (global && until > limits->paused_until)
		limits->paused_until = until;
	if (global || !has_bucket(route))
		return;
	struct bucket *bucket = find(limits, route, true, now);
	bucket->limit = bucket->limit > 0 ? bucket->limit : 1;
	bucket->known = true;
	bucket->remaining = 0;
	bucket->reset_at = until;
}

bool
limits_invalid(struct limits *limits, uint64_t now)
{
	bool paused = window_wait(&limits->invalid, now) > 0;
	window_add(&limits->invalid, now);
	return !paused && window_wait(&limits->invalid, now) > 0;
}
