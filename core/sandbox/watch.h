/* SPDX-License-Identifier: MIT */
/* Counts and limits of the processes below init. Private to the library; runs in init. */
#pragma once

#include "sandbox/plan.h"

#define SANDBOX_WATCH_MS 20 /* interval of polls */

/* Whether limits need polling, beyond what the kernel reports by itself. */
bool sandbox_watch_needed(const struct sandbox_plan *plan);
/*
 * Polls: updates cpu_ns and memory_peak of the result and returns the limit that was reached, or NONE. `proc` is a /proc
 * without hidepid. *ret_wait_ms: time until the next poll; -1: none needed.
 */
enum sandbox_limit sandbox_watch_check(struct sandbox_plan *plan, int proc, int *ret_wait_ms);
/* Kills everything below init once; call it until init has no children. */
void sandbox_watch_kill(const struct sandbox_plan *plan, int proc);
