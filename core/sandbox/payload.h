/* SPDX-License-Identifier: MIT */
/* From init to the payload: what is given up and set between clone and exec. The library's own. */
#ifndef KETTLE_SANDBOX_PAYLOAD_H
#define KETTLE_SANDBOX_PAYLOAD_H

#include "sandbox/plan.h"
#include "sandbox/zygote.h"

/*
 * Init: starts the payload of a plan with these descriptors (fds[i] becomes plan->fd_targets[i]) and returns its pid
 * once it was executed; -1 with what failed in the plan. `ruleset` is Landlock's, or -1. All signals are blocked.
 */
pid_t sandbox_payload_start(struct sandbox_plan *plan, const int *fds, int ruleset);

/* The payload of a warm process: forked, perhaps long before its run is known, and waiting for that. */
struct sandbox_parked_payload {
	pid_t pid;  /* 0: none */
	int socket; /* what tells it */
};
/* Init: forks one. 0, or -1 with what failed in the plan. Close the socket at the end. */
int sandbox_payload_park(
	struct sandbox_plan *plan, const struct sandbox_zygote *zygote, struct sandbox_parked_payload *ret_parked);
/*
 * Init: lets it go on with the plan, which is complete now, as sandbox_payload_start does; one that has died meanwhile is
 * replaced. Returns when it goes on in its program, or has failed.
 */
pid_t sandbox_payload_resume(struct sandbox_plan *plan, const int *fds, int ruleset,
	const struct sandbox_zygote *zygote, struct sandbox_parked_payload *parked);

/* Closes every descriptor that is not in the list, which it sorts. For init and the payload. */
void sandbox_payload_close_others(int *keep, size_t count);

#endif
