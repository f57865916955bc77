/* SPDX-License-Identifier: MIT */
/* From init to the payload: what is given up and set between clone and exec. The library's own. */
#ifndef KETTLE_SANDBOX_PAYLOAD_H
#define KETTLE_SANDBOX_PAYLOAD_H

#include "sandbox/plan.h"

/*
 * Init: starts the payload of a plan with these descriptors (fds[i] becomes plan->fd_targets[i]) and returns its pid
 * once it was executed; -1 with what failed in the plan. `ruleset` is Landlock's, or -1. All signals are blocked.
 */
pid_t sandbox_payload_start(struct sandbox_plan *plan, const int *fds, int ruleset);

/* What the program of a warm process does. */
struct sandbox_zygote {
	void (*before)(void *arg); /* in the warm process: right before it is copied, */
	void (*after)(void *arg);  /* and right after */
	/*
	 * In the payload, as soon as it is there: nothing is known of its run, signals are blocked, privileges are init's.
	 * What every run begins with can be done ahead here, in small pieces while `wanted` is false; it may be for long.
	 */
	void (*park)(void *arg, const atomic_bool *wanted);
	/*
	 * In the payload, in place of executing `file`: all is given up and set as it would be for that. The strings are the
	 * payload's own. Must not return; may execute `file` after all.
	 */
	void (*become)(void *arg, const char *file, char **argv, char **envp) __attribute__((noreturn));
	void *arg;
	int dumpable; /* as the payload is to be; sandbox_zygote_serve sets it */
};

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
