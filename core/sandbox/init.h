/* SPDX-License-Identifier: MIT */
/* PID 1 of a sandbox. Private to the library. */
#pragma once

#include "sandbox/cgroup.h"
#include "sandbox/payload.h"

/* From the owner to init over the control socket (SOCK_SEQPACKET). */
enum sandbox_message {
	SANDBOX_MAPPED, /* ids are mapped */
	SANDBOX_GO,     /* the plan is complete; carries the descriptors: fds, then keep */
	SANDBOX_OPEN,   /* before it: the plan is complete but for the job, and the payload must open its device */
	SANDBOX_KILL,   /* kill everything and report; the limit is in the result */
};
/* From init to the owner, a byte without descriptors: the payload has opened its device. */
#define SANDBOX_OPENED 'o'

/*
 * Makes an init: a copy of this process in the namespaces of the plan's protections, whose end raises no signal in the
 * owner. Returns its pid, or -1 with errno. `cgroup`: the folder of the v2 cgroup to start in, or -1. `control` is init's
 * end of the socket, `procs` the cgroup.procs files (-1: none) to write itself into. `zygote`: this process is a warm one,
 * and init is its sibling; NULL: this is the owner. `ret_pidfd` may be NULL.
 */
pid_t sandbox_init_clone(struct sandbox_plan *plan, int cgroup, int control, const int procs[SANDBOX_CG_COUNT],
	const struct sandbox_zygote *zygote, int *ret_pidfd);
