/* SPDX-License-Identifier: MIT */
/* The second lock on files, /proc and signals, where the kernel has Landlock. Private to the library. */
#pragma once

#include "sandbox/plan.h"

/* The ABI version that the kernel offers; 0: none. [any] */
int sandbox_landlock_abi(void);
/* Init, with the payload's root in place: returns a ruleset's descriptor, or -1 with errno. `copied`: the payload
 * is a copy of init and goes on in its program. */
int sandbox_landlock_ruleset(const struct sandbox_plan *plan, bool copied);
/* Payload, after no_new_privs: applies the ruleset to it and all its children. 0 or -1. */
int sandbox_landlock_enter(int ruleset);
