/* SPDX-License-Identifier: MIT */
/* The engine's host: the table of functions that a plugin gets (kettle/host.h), backed by the core. */
#ifndef KETTLE_SESSION_PLUGIN_HOST_H
#define KETTLE_SESSION_PLUGIN_HOST_H

#include "session/core.h"

/* One per plugin instance. `core` may be set later than the rest: no plugin calls it before start. */
struct core_host {
	struct kettle_host table; /* first: the plugin's pointer is this one's */
	struct loop_services *io;
	struct core *core;
	char name[40];
	bool refused, told; /* the credential of a runner; told: as an event */
};

/* Fills in a host for the plugin `name`. */
void host_init(struct core_host *host, struct loop_services *io, struct core *core, const char *name);
/* Ends what its plugin left: HTTP requests, the links that it serves. Before destroy; a host that was not filled in is allowed. */
void host_end(struct core_host *host);

static inline struct core_host *
host_of(const struct kettle_host *table)
{
	return (struct core_host *)table;
}

#endif
