/* SPDX-License-Identifier: MIT */
/*
 * The bot's connection to Discord's gateway, which recovers from all failures that are not fatal. All functions and
 * events are called on the loop thread; the connection itself has a thread of its own.
 */
#pragma once

#include <jansson.h>
#include <kettle/error.h>
#include <kettle/host.h>
#include <stddef.h>
#include <stdint.h>

#include "discord/gateway/machine.h"

#define GATEWAY_CLOSE_MS 3000          /* until a server that does not answer a close frame is disconnected */
#define GATEWAY_FRAME_MAX (16u << 20)  /* default of max_frame */
#define GATEWAY_UNREAD_MAX (64u << 20) /* default of max_unread */

struct gateway_rules {
	const char *token;   /* copied; never logged */
	unsigned intents;    /* for IDENTIFY */
	const char *ca_file; /* PEM file of trusted certificates, in place of the system's; NULL: the system's; copied */
	size_t max_frame;    /* bytes of the longest accepted frame; 0: GATEWAY_FRAME_MAX */
	size_t max_unread; /* bytes of events that wait for the loop, above which nothing is read; 0: GATEWAY_UNREAD_MAX */
	uint64_t retry_ms; /* the first window of the back-off; 0: MACHINE_RETRY_MS */
};

struct gateway_events {
	/* An event of Discord (READY, GUILD_CREATE, INTERACTION_CREATE, RESUMED, …): each once, in order. */
	void (*dispatch)(void *arg, const char *name, json_t *data_take);
	/* Requests GET /gateway/bot, then gateway_fetched or gateway_fetch_failed, possibly before this returns. */
	void (*fetch)(void *arg);
	/* A change of state, with a sentence for the log. After GATEWAY_FATAL no event comes any more. */
	void (*state)(void *arg, enum gateway_state state, const char *sentence);
};

struct gateway;

/* Starts; events is borrowed for the gateway's life. EINVAL: not a possible token. EUNAVAIL. */
int gateway_new(const struct kettle_host *host, const struct gateway_rules *rules, const struct gateway_events *events,
	void *arg, struct gateway **ret_gateway, struct kettle_error *err);
/* Passes on the answer of GET /gateway/bot: `url`, and `remaining` and `reset_after` of session_start_limit. */
void gateway_fetched(struct gateway *gateway, const char *url, unsigned remaining, uint64_t reset_after_ms);
/* Says that there was none. why: a clause for the log. The gateway tries again after retry_after_ms, or later. */
void gateway_fetch_failed(struct gateway *gateway, uint64_t retry_after_ms, const char *why);
/* The time between the last heartbeat and its answer; 0: unknown. */
unsigned gateway_latency_ms(const struct gateway *gateway);
/*
 * Ends the session at Discord, then the thread. No event comes after this call. Frees the gateway, then calls
 * done(arg), after this returns. It takes at most GATEWAY_CLOSE_MS, or as long as a name server is silent.
 */
void gateway_stop(struct gateway *gateway, kettle_fn done, void *arg);
