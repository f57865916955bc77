/* SPDX-License-Identifier: MIT */
/* The engine's host: the table of functions that a plugin gets (kettle/host.h), backed by the core. */
#pragma once

#include "session/core.h"

/* One per plugin instance. `core` may be set later, since plugins call it only after start. */
struct core_host {
	struct kettle_host
		table; /* first: a plugin's pointer to it also points to this struct, which begins as a loop_host */
	struct loop_services *io;
	struct core *core;
	char name[40];
	uint16_t abi_minor; /* for which the plugin was built: what came later is not expected of it; default 0 */
	bool refused, told; /* of a runner's credential; told: the event is stored */
};

/* Fills in a host for the plugin `name`. */
void host_init(struct core_host *host, struct loop_services *io, struct core *core, const char *name);
/*
 * Ends what the plugin left: HTTP requests, callers, and the URL of its links. Call it before destroy. A host that was not
 * filled in is allowed.
 */
void host_end(struct core_host *host);

static inline struct core_host *
host_of(const struct kettle_host *table)
{
	return (struct core_host *)table;
}
