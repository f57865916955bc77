/* SPDX-License-Identifier: MIT */
/* The payload's file system: planned by the owner, built by init. The library's own. */
#ifndef KETTLE_SANDBOX_ROOT_H
#define KETTLE_SANDBOX_ROOT_H

#include "sandbox/plan.h"

/* Owner, before the clone: plans what is the same for all runs. Looks at the machine's files. */
int sandbox_root_plan_base(struct sandbox_plan *plan, struct kettle_error *err);
/* Owner, before init goes on: plans the rest for a config. */
int sandbox_root_plan(struct sandbox_plan *plan, const struct sandbox_config *config, struct kettle_error *err);
/*
 * Init: builds the base, with the new root as / and the old one below it. *ret_proc gets a descriptor of a /proc that
 * hides nothing. 0, or -1 with what failed in the plan.
 */
int sandbox_root_build_base(struct sandbox_plan *plan, int *ret_proc);
/* Init: builds the rest; then the old root is gone. `send_out` passes the output folder's descriptor on. */
int sandbox_root_build(struct sandbox_plan *plan, int (*send_out)(void *arg, int fd), void *arg);
/* Init: 1 << limit for what is full. */
unsigned sandbox_root_hits(void);

#endif
