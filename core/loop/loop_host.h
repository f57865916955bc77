/* SPDX-License-Identifier: MIT */
/* The functions of a plugin's host that need nothing but the loop. */
#pragma once

#include "loop/loop_services.h"

#include <kettle/host.h>
#include <stddef.h>

/* The first members of each host's structure. */
struct loop_host {
	struct kettle_host table;
	struct loop_services *io;
};
#define LOOP_HOST_CHECK(type) \
	_Static_assert(offsetof(type, io) == offsetof(struct loop_host, io), "it does not begin as a loop_host")

/* Sets these functions in the table of a structure that begins as a loop_host. */
void loop_host_fill(struct kettle_host *table);
