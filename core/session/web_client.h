/* SPDX-License-Identifier: MIT */
/*
 * A client of another machine's server, by HTTP (the frontend web): the third way beside owner and client of a database.
 * All on the loop thread.
 */
#pragma once

#include "session/core_internal.h"

struct web_client;

struct web_client_events {
	void (*answered)(struct call *call, const struct kettle_error *err, json_t *result);
	void (*event)(struct core *core, uint64_t id, const json_t *event);
	void (*progress)(struct core *core, const json_t *event); /* of a call */
};

/* For the core's server (core_setup.server). events must outlive it. Nothing is sent before the first call. */
struct web_client *web_client_new(struct core *core, const struct web_client_events *events);
/* Calls the command there, and answers the call. Its progress comes to this process's subscriptions to progress. */
void web_client_call(struct web_client *client, struct call *call);
/* Takes back a call: its command ends there where it can. Frees the call. */
void web_client_cancel(struct web_client *client, struct call *call);
/* Follows events there, until web_client_unsubscribe; connects again when the connection is lost. */
void web_client_subscribe(struct web_client *client, const struct subscription *subscription);
void web_client_unsubscribe(struct web_client *client, uint64_t id);
/* Answers open calls with ECANCELED and ends all requests. NULL is allowed. */
void web_client_free(struct web_client *client);
