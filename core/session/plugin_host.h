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
};

/* Fills in a host for the plugin `name`. */
void host_init(struct core_host *host, struct loop_services *io, struct core *core, const char *name);

#endif
