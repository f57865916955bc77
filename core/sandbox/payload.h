/* SPDX-License-Identifier: MIT */
/* Starts the payload: the privileges that it drops and limits that it sets before exec. Private to the library. */
#pragma once

#include "sandbox/plan.h"

/*
 * Init: starts the payload of a plan with these descriptors (fds[i] becomes plan->fd_targets[i]) and returns its pid
 * after the exec, or -1 with the failure in the plan. `ruleset` is Landlock's, or -1. All signals are blocked.
 */
pid_t sandbox_payload_start(struct sandbox_plan *plan, const int *fds, int ruleset);

/* The callbacks of a warm process's program. */
struct sandbox_zygote {
	void (*before)(void *arg); /* in the warm process, right before each copy */
	void (*after)(void *arg);  /* and right after it */
	/*
	 * In the payload, right after its fork: its run is not known, signals are blocked, privileges are init's. It may do
	 * in advance what every run begins with, in small pieces while `wanted` is false, which may be for a long time.
	 */
	void (*park)(void *arg, const atomic_bool *wanted);
	/*
	 * In a prepared payload after `park`, with privileges dropped and limits set, before its run is known: opens the
	 * device. 0, or -1 with the reason. NULL: it cannot. Threads that it starts have no other privileges.
	 */
	int (*open)(void *arg, char *ret_why, size_t size);
	/*
	 * In the payload, instead of executing `file`, with privileges dropped and limits set as for an exec. The strings
	 * are the payload's own. Must not return; may execute `file` after all.
	 */
	void (*become)(void *arg, const char *file, char **argv, char **envp) __attribute__((noreturn));
	void *arg;
	int dumpable; /* the payload's PR_SET_DUMPABLE; sandbox_zygote_serve sets it */
};

/* The payload of a warm process: forked ahead, and waiting for its run. */
struct sandbox_parked_payload {
	pid_t pid;  /* 0: none */
	int socket; /* sends it the run */
};
/* Init: forks one. 0, or -1 with the failure in the plan. The caller closes the socket. */
int sandbox_payload_park(
	struct sandbox_plan *plan, const struct sandbox_zygote *zygote, struct sandbox_parked_payload *ret_parked);
/*
 * Init: starts the run of a complete plan in the parked payload, as sandbox_payload_start does; replaces a payload that
 * has died. Returns when the payload is in its program, or has failed.
 */
pid_t sandbox_payload_resume(struct sandbox_plan *plan, const int *fds, int ruleset,
	const struct sandbox_zygote *zygote, struct sandbox_parked_payload *parked);

/*
 * Init: makes the parked payload give up its privileges and open its device; without a warm process it starts the
 * plan's file to do so (prepared_wire.h). The payload's socket then brings SANDBOX_PREPARED_READY, or ends. 0, or -1.
 */
int sandbox_payload_open(
	struct sandbox_plan *plan, int ruleset, const struct sandbox_zygote *zygote, struct sandbox_parked_payload *parked);
/*
 * Init: as sandbox_payload_resume, in a payload that is ready. Without a warm process the first of `count` descriptors
 * is the memfd of the run. Replaces no payload that has died: -1.
 */
pid_t sandbox_payload_resume_prepared(struct sandbox_plan *plan, const int *fds, size_t count,
	const struct sandbox_zygote *zygote, const struct sandbox_parked_payload *parked);

/* Closes every descriptor that is not in `keep`, which it sorts. For init and the payload. */
void sandbox_payload_close_others(int *keep, size_t count);
