/* SPDX-License-Identifier: MIT */
/* The internals of struct rest: requests in their lanes, and when they are sent. */
#ifndef KETTLE_DISCORD_REST_CALL_H
#define KETTLE_DISCORD_REST_CALL_H

#include "discord/rest/limits.h"
#include "discord/rest/rest.h"
#include "discord/rest/route.h"

#include <sys/queue.h>

#define CALL_CHAINS 256

/* A request that waits or is under way. */
struct call {
	TAILQ_ENTRY(call) link; /* in its lane */
	struct rest *rest;
	struct lane *lane;
	struct route route;
	char *method, *url;
	char *type; /* of the body, or NULL */
	void *body;
	size_t size;
	uint64_t max_answer;
	unsigned faults, limited; /* tries that ended with a fault, with a 429 */
	bool once;                /* set by rest_request */
	bool under_way;
	uint64_t http;         /* of host->http, while under way */
	uint64_t added;        /* when it was added */
	uint64_t sent;         /* when it was sent */
	struct bucket *bucket; /* while under way */
	rest_fn done;
	rest_download_fn got; /* of a download, in place of done */
	void *arg;
};

TAILQ_HEAD(calls, call);

/* Requests in order. Only the first is ever under way. */
struct lane {
	TAILQ_ENTRY(lane) link; /* in the list of the class of its first request */
	struct lane *chain;
	char *key;
	enum route_class class;
	struct calls calls;
	uint64_t not_before;
};

TAILQ_HEAD(lanes, lane);

struct rest {
	const struct kettle_host *host;
	struct rest_rules rules; /* without its strings */
	char *base, *authorization, *user_agent, *token_option;
	char **cdn;
	struct limits *limits;
	struct lanes lanes[ROUTE_CLASSES];
	struct lane *chains[CALL_CHAINS];
	unsigned under_way[ROUTE_CLASSES];
	unsigned count;     /* requests */
	size_t bytes;       /* of their bodies */
	uint64_t downloads; /* downloads until now; each has a lane of its own */
	struct kettle_timer *timer;
	uint64_t timer_at;
	int64_t latency;
	bool refused, closing;
};

/* The time in ms, on the clock of all times here. */
uint64_t call_now(const struct rest *rest);
/* Adds a request at the end of its lane; the next turn of the loop sends it. Takes ownership. */
void call_add(struct rest *rest, struct call *call_take);
/* Removes an answered request from its lane and frees it. It must not be under way. */
void call_remove(struct call *call);
/* Sends the requests that may be sent, and sets the timer for the next ones. */
void call_pump(struct rest *rest);
void call_free(struct call *call);

#endif
