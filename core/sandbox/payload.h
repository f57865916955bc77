/* SPDX-License-Identifier: MIT */
/* From init to the payload: what is given up and set between clone and exec. The library's own. */
#ifndef KETTLE_SANDBOX_PAYLOAD_H
#define KETTLE_SANDBOX_PAYLOAD_H

#include "plan.h"
#include "zygote.h"

/*
 * Init: starts the payload of a plan with these descriptors (fds[i] becomes plan->fd_targets[i]) and returns its pid
 * once it was executed; -1 with what failed in the plan. `ruleset` is Landlock's, or -1. All signals are blocked. With a
 * zygote the payload is forked and goes on in its program.
 */
pid_t sandbox_payload_start(
	struct sandbox_plan *plan, const int *fds, int ruleset, const struct sandbox_zygote *zygote);

/* Closes every descriptor that is not in the list, which it sorts. For init and the payload. */
void sandbox_payload_close_others(int *keep, size_t count);

#endif
