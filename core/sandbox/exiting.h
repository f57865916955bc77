/* SPDX-License-Identifier: MIT */
/* Whether processes that are still listed run no code any more. Private to the library; runs in the owner. */
#pragma once

#include "sandbox/spawn.h"

/*
 * Whether nothing of a sandbox can run code of its program any more: it was killed, or its first process has begun its
 * exit; and every task is in the kernel's exit path, or gone. *payload: 0 before the first call for this sandbox; kept
 * for the next one. *ret_status: the first process's, as wait reports it; -1: the sandbox was killed. Needs a cgroup.
 */
bool sandbox_exiting_look(const struct sandbox_child *child, pid_t *payload, int *ret_status);
