/* SPDX-License-Identifier: MIT */
/* When requests are sent: by class, in order within a lane, as Discord's limits allow. */
#include <config.h>

#include "discord/rest/call.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "discord/rest/answer.h"

#define HEADERS_MAX 4
#define API_MS 30000
#define CALLBACK_MS 10000 /* longer than an interaction waits for its first answer (3 s): a late one may have arrived */
#define DOWNLOAD_MS 60000
#define DOWNLOAD_RETRIES 2

/* The greatest numbers of requests under way. Their sum is the limit of host->http, so no request waits there. */
static const unsigned most_under_way[ROUTE_CLASSES] = {
	[ROUTE_CALLBACK] = 24, [ROUTE_FOLLOW_UP] = 16, [ROUTE_BOT] = 16, [ROUTE_DOWNLOAD] = 8};

uint64_t
call_now(const struct rest *rest)
{
	return rest->host->monotonic_ms(rest->host);
}

void
call_free(struct call *call)
{
	route_free(&call->route);
	free(call->method);
	free(call->url);
	free(call->type);
	free(call->body);
	free(call);
}

static struct lane **
lane_at(struct rest *rest, const char *key)
{
	size_t chain = 0;
	for (const char *at = key; *at; at++)
		chain = (chain * 31 + (unsigned char)*at) % CALL_CHAINS;
	struct lane **lane = &rest->chains[chain];
	while (*lane && strcmp((*lane)->key, key) != 0)
		lane = &(*lane)->chain;
	return lane;
}

/* Puts a lane at the end of the list of its first request's class. */
static void
lane_place(struct rest *rest, struct lane *lane)
{
	lane->class = TAILQ_FIRST(&lane->calls)->route.class;
	TAILQ_INSERT_TAIL(&rest->lanes[lane->class], lane, link);
}

static void
on_timer(void *arg)
{
	struct rest *rest = arg;
	rest->timer = NULL;
	call_pump(rest);
}

/* Sets the timer, if it is not set for an earlier time. */
static void
wake_at(struct rest *rest, uint64_t at, uint64_t now)
{
	if (at == LIMITS_ANSWER || (rest->timer && rest->timer_at <= at))
		return;
	rest->host->timer_stop(rest->host, rest->timer);
	rest->timer = NULL;
	rest->timer_at = at;
	struct kettle_error err = {0};
	if (rest->host->timer_start(rest->host, at > now ? at - now : 0, 0, on_timer, rest, &rest->timer, &err) != 0)
		rest->host->log(rest->host, KETTLE_LOG_ERROR, "Requests to Discord wait for the next answer: %s", err.message);
}

void
call_add(struct rest *rest, struct call *call_take)
{
	struct lane **at = lane_at(rest, call_take->route.lane), *lane = *at;
	call_take->rest = rest;
	call_take->added = call_now(rest);
	if (!lane) {
		lane = *at = xcalloc(1, sizeof(*lane));
		lane->key = xstrdup(call_take->route.lane);
		TAILQ_INIT(&lane->calls);
	}
	call_take->lane = lane;
	bool first = TAILQ_EMPTY(&lane->calls);
	TAILQ_INSERT_TAIL(&lane->calls, call_take, link);
	if (first)
		lane_place(rest, lane);
	rest->count++;
	rest->bytes += call_take->size;
	wake_at(rest, call_take->added, call_take->added);
}

void
call_remove(struct call *call)
{
	struct rest *rest = call->rest;
	struct lane *lane = call->lane;
	TAILQ_REMOVE(&rest->lanes[lane->class], lane, link);
	TAILQ_REMOVE(&lane->calls, call, link);
	rest->count--;
	rest->bytes -= call->size;
	if (TAILQ_EMPTY(&lane->calls)) {
		*lane_at(rest, lane->key) = lane->chain;
		free(lane->key);
		free(lane);
	} else {
		lane_place(rest, lane);
	}
	call_free(call);
}

static void
on_http(void *arg, const struct kettle_error *err, const struct kettle_http_answer *answer)
{
	struct call *call = arg;
	struct rest *rest = call->rest;
	call->under_way = false;
	rest->under_way[call->route.class]--;
	answer_take(call, err, answer);
	call_pump(rest);
}

static void
send(struct call *call, uint64_t now)
{
	struct rest *rest = call->rest;
	bool api = call->route.class == ROUTE_BOT, download = call->route.class == ROUTE_DOWNLOAD;
	AUTO_FREE char *type = call->type ? xasprintf("Content-Type: %s", call->type) : NULL;
	const char *headers[HEADERS_MAX];
	size_t count = 0;
	headers[count++] = rest->user_agent;
	if (api)
		headers[count++] = rest->authorization;
	if (type)
		headers[count++] = type;
	headers[count] = NULL;
	struct kettle_http_request request = {
		.size = sizeof(request),
		.method = call->method,
		.url = call->url,
		.headers = headers,
		.body = call->body,
		.body_size = call->size,
		.max_body = call->max_answer,
		.total_ms = download                              ? DOWNLOAD_MS
					: call->route.class == ROUTE_CALLBACK ? CALLBACK_MS
														  : API_MS,
		.retries = download ? DOWNLOAD_RETRIES : 0,
		.done = on_http,
		.arg = call,
	};
	struct kettle_error err = {0};
	call->sent = now;
	call->bucket = limits_sent(rest->limits, &call->route, now);
	if (rest->host->http(rest->host, &request, &call->http, &err) != 0) {
		answer_take(call, &err, NULL);
		return;
	}
	call->under_way = true;
	rest->under_way[call->route.class]++;
	/* Other lanes of the class have their turn before this lane's next request. */
	TAILQ_REMOVE(&rest->lanes[call->lane->class], call->lane, link);
	TAILQ_INSERT_TAIL(&rest->lanes[call->lane->class], call->lane, link);
}

/* Sends the requests of one class that may be sent; returns when it may send again. */
static uint64_t
pump_class(struct rest *rest, enum route_class class, uint64_t now)
{
	uint64_t next = LIMITS_ANSWER;
	for (struct lane *lane = TAILQ_FIRST(&rest->lanes[class]), *following; lane; lane = following) {
		following = TAILQ_NEXT(lane, link);
		uint64_t overall = class == ROUTE_BOT ? limits_overall(rest->limits, now) : 0;
		if (overall > 0)
			return now + overall < next ? now + overall : next;
		if (rest->under_way[class] >= most_under_way[class])
			return next;
		struct call *call = TAILQ_FIRST(&lane->calls);
		if (call->under_way)
			continue;
		uint64_t wait = lane->not_before > now ? lane->not_before - now : limits_wait(rest->limits, &call->route, now);
		if (wait == 0)
			send(call, now);
		else if (wait != LIMITS_ANSWER && now + wait < next)
			next = now + wait;
	}
	return next;
}

void
call_pump(struct rest *rest)
{
	uint64_t now = call_now(rest), next = LIMITS_ANSWER;
	for (int i = 0; i < ROUTE_CLASSES && !rest->refused; i++) {
		uint64_t at = pump_class(rest, (enum route_class)i, now);
		next = at < next ? at : next;
	}
	wake_at(rest, next, now);
}
