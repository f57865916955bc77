/* SPDX-License-Identifier: MIT */
/* The payload's file system: planned by the owner, built by init. The library's own. */
#ifndef KETTLE_SANDBOX_ROOT_H
#define KETTLE_SANDBOX_ROOT_H

#include "plan.h"

/* Owner: plans the root for a config (NULL: for a probe). Looks at the machine's files. */
int sandbox_root_plan(struct sandbox_plan *plan, const struct sandbox_config *config, struct kettle_error *err);
/*
 * Init: builds it, with the new root as / and the old one gone. `send_out` passes the output folder's descriptor on.
 * *ret_proc gets a descriptor of a /proc that hides nothing, or -1. 0, or -1 with what failed in the plan.
 */
int sandbox_root_build(struct sandbox_plan *plan, int (*send_out)(void *arg, int fd), void *arg, int *ret_proc);
/* Init: 1 << limit for what is full. */
unsigned sandbox_root_hits(void);

#endif
