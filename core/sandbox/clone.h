/* SPDX-License-Identifier: MIT */
/* The one system call that makes an init. The library's own. */
#ifndef KETTLE_SANDBOX_CLONE_H
#define KETTLE_SANDBOX_CLONE_H

#include <stdint.h>
#include <sys/types.h>

/* The flags for the namespaces among some protections. */
uint64_t sandbox_clone_flags(unsigned protections);
/*
 * A copy of this process: 0 in it, its pid here, -1 with errno. No exit signal: handlers of the owner have nothing to do
 * with it. `cgroup`: the folder of a cgroup (v2) to begin in, or -1. `ret_pidfd` may be NULL.
 */
pid_t sandbox_clone(uint64_t flags, int cgroup, int *ret_pidfd);

#endif
