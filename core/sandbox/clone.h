/* SPDX-License-Identifier: MIT */
/* The system call that makes an init. Private to the library. */
#ifndef KETTLE_SANDBOX_CLONE_H
#define KETTLE_SANDBOX_CLONE_H

#include <stdint.h>
#include <sys/types.h>

/* The clone flags for the namespaces in `protections`. */
uint64_t sandbox_clone_flags(unsigned protections);
/*
 * Copies this process, like fork: 0 in the child, its pid in the parent, -1 with errno. Its end raises no signal in the
 * owner. `cgroup`: the folder of the v2 cgroup to start in, or -1. `ret_pidfd` may be NULL.
 */
pid_t sandbox_clone(uint64_t flags, int cgroup, int *ret_pidfd);

#endif
