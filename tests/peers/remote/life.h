/* SPDX-License-Identifier: MIT */
/* One life of the engine: the table that the plugin gets, and what it has begun (world.h). */
#pragma once

#include "peers/remote/world.h"

struct life {
	struct kettle_host host; /* first */
	struct world *world;
	struct life *next;
	void *self;
	unsigned calls_left; /* until it is killed; 0: it is not */
	bool dead;           /* nothing that it does has an effect */
	bool thawed;         /* it is dead and ends: its own callbacks come */
	bool stopping, stop_called, stopped, destroyed;
	struct begun *begun;
	struct world_timer *timers;
};

/* A life whose plugin is created, configured and started. */
struct life *life_new(struct world *world);
/* The engine has no power any more. */
void life_kill(struct life *life);
/* Stops its plugin, once: `stopped` says when it has. */
void life_stop(struct life *life);
/* Stops and destroys the plugin of one that is dead. */
void life_bury(struct life *life);
/* Destroys the plugin of one that has stopped. */
void life_destroy(struct life *life);
/* Frees one whose plugin was destroyed; what it has left fails the case. */
void life_close(struct life *life);
/* Whether a call of the table has an effect; a kill happens here. */
bool life_has_effect(struct life *life);

/* ---- wire.c ---- */

/* Those of the table. */
int wire_send(const struct kettle_host *host, const struct kettle_http_request *request, uint64_t *ret_id,
	struct kettle_error *err);
void wire_cancel(const struct kettle_host *host, uint64_t id);
/* What has not arrived when its sender dies arrives at once or never. */
void wires_cut(struct life *life);
/* Answers all with KETTLE_ECANCELED. */
void wires_close(struct life *life);
unsigned wires_left(const struct life *life);
void wires_forget(const struct life *life);
void wires_free(struct world *world);
