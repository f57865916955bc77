/* SPDX-License-Identifier: MIT */
/* PID 1 of a sandbox. Private to the library. */
#ifndef KETTLE_SANDBOX_INIT_H
#define KETTLE_SANDBOX_INIT_H

#include "sandbox/cgroup.h"
#include "sandbox/payload.h"

/* From the owner to init over the control socket (SOCK_SEQPACKET). */
enum sandbox_message {
	SANDBOX_MAPPED, /* ids are mapped */
	SANDBOX_GO,     /* the plan is complete; carries the descriptors: fds, then keep */
	SANDBOX_KILL,   /* kill everything and report; the limit is in the result */
};

/*
 * Runs init, from the clone to its exit. `control` is its end of the socket, `procs` the cgroup.procs files (-1: none)
 * to write itself into. `zygote`: the warm process that it is a copy of; NULL: a copy of the owner.
 */
void sandbox_init_main(struct sandbox_plan *plan, int control, const int procs[SANDBOX_CG_COUNT],
	const struct sandbox_zygote *zygote) __attribute__((noreturn));

#endif
