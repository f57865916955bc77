/* SPDX-License-Identifier: MIT */
/* PID 1 of a sandbox. The library's own. */
#ifndef KETTLE_SANDBOX_INIT_H
#define KETTLE_SANDBOX_INIT_H

#include "sandbox/cgroup.h"
#include "sandbox/payload.h"

/* From the owner to init over the control socket (SOCK_SEQPACKET). */
enum sandbox_message {
	SANDBOX_MAPPED, /* ids are mapped */
	SANDBOX_GO,     /* the plan is complete; with the descriptors: fds, then keep */
	SANDBOX_KILL,   /* kill everything and report; its limit is in the result */
};

/*
 * The child's life from clone to exit. `control` is its end of the socket, `procs` the cgroup.procs files (-1: none)
 * that it enters by itself. `zygote`: the warm process that it is a copy of (NULL: it is one of the owner).
 */
void sandbox_init_main(struct sandbox_plan *plan, int control, const int procs[SANDBOX_CG_COUNT],
	const struct sandbox_zygote *zygote) __attribute__((noreturn));

#endif
