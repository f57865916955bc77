/* SPDX-License-Identifier: MIT */
/*
 * The bot's connection to Discord's gateway, which survives whatever can be survived. All functions are called on the loop
 * thread, and so are the events; the connection itself has a thread of its own.
 */
#ifndef KETTLE_DISCORD_GATEWAY_H
#define KETTLE_DISCORD_GATEWAY_H

#include <jansson.h>
#include <kettle/error.h>
#include <kettle/host.h>
#include <stddef.h>
#include <stdint.h>

#include "discord/gateway/machine.h"

#define GATEWAY_FRAME_MAX (16u << 20)  /* default of max_frame */
#define GATEWAY_UNREAD_MAX (64u << 20) /* default of max_unread */

struct gateway_rules {
	const char *token;   /* copied; never logged */
	unsigned intents;    /* of IDENTIFY */
	const char *ca_file; /* PEM file of the certificates that are trusted instead of the system's, or NULL; copied */
	size_t max_frame;    /* bytes of the longest frame that is taken; 0: GATEWAY_FRAME_MAX */
	size_t max_unread;   /* bytes of events that wait for the loop, until nothing is read; 0: GATEWAY_UNREAD_MAX */
	uint64_t retry_ms;   /* the first window of the back-off; 0: MACHINE_RETRY_MS */
};

struct gateway_events {
	/* An event of Discord (READY, GUILD_CREATE, INTERACTION_CREATE, RESUMED, …): in order, each once. */
	void (*dispatch)(void *arg, const char *name, json_t *data_take);
	/* Do GET /gateway/bot, then call gateway_fetched or gateway_fetch_failed, possibly before this returns. */
	void (*fetch)(void *arg);
	/* For the log. After GATEWAY_FATAL nothing comes any more. */
	void (*state)(void *arg, enum gateway_state state, const char *sentence);
};

struct gateway;

/* Starts; events is borrowed for the gateway's life. EINVAL: the token cannot be one. EUNAVAIL. */
int gateway_new(const struct kettle_host *host, const struct gateway_rules *rules, const struct gateway_events *events,
	void *arg, struct gateway **ret_gateway, struct kettle_error *err);
/* The answer of GET /gateway/bot: `url`, and `remaining` and `reset_after` of session_start_limit. */
void gateway_fetched(struct gateway *gateway, const char *url, unsigned remaining, uint64_t reset_after_ms);
/* There was none. why: a clause for the log; it is tried again after retry_after_ms, or later. */
void gateway_fetch_failed(struct gateway *gateway, uint64_t retry_after_ms, const char *why);
/* Between the last heartbeat and its answer; 0: unknown. */
unsigned gateway_latency_ms(const struct gateway *gateway);
/*
 * Ends the session at Discord, then the thread. No event comes after this call; the gateway is freed before done(arg) is
 * called, which is after this returns. It takes at most CONNECTION_CLOSE_MS, or as long as a name server is silent.
 */
void gateway_stop(struct gateway *gateway, kettle_fn done, void *arg);

#endif
