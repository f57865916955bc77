/* SPDX-License-Identifier: MIT */
/* Counts and limits of the tree of processes below init. The library's own; all of it runs in init. */
#ifndef KETTLE_SANDBOX_WATCH_H
#define KETTLE_SANDBOX_WATCH_H

#include "sandbox/plan.h"

#define SANDBOX_WATCH_MS 20 /* how often the tree is looked at */

/* Whether limits need a look now and then, beyond what the kernel reports by itself. */
bool sandbox_watch_needed(const struct sandbox_plan *plan);
/*
 * Looks: updates cpu_ns and memory_peak of the result and returns the limit that was reached, or NONE. `proc` is a
 * /proc that hides nothing. *ret_wait_ms: when to look again, -1: not needed.
 */
enum sandbox_limit sandbox_watch_check(struct sandbox_plan *plan, int proc, int *ret_wait_ms);
/* Kills everything below init once; call it until there are no children. */
void sandbox_watch_kill(const struct sandbox_plan *plan, int proc);

#endif
