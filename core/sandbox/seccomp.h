/* SPDX-License-Identifier: MIT */
/* The allow-list of system calls, as a program for the kernel. The library's own. */
#ifndef KETTLE_SANDBOX_SECCOMP_H
#define KETTLE_SANDBOX_SECCOMP_H

#include <kettle/error.h>
#include <linux/filter.h>
#include <stdbool.h>

/* Whether the kernel takes filters. [any] */
int sandbox_seccomp_present(void);
/*
 * Builds the filter of this architecture; ret_program->filter is the caller's to free. About 3 ms. counts: the payload
 * may count events of its own processes (perf_event_open).
 */
int sandbox_seccomp_build(bool counts, struct sock_fprog *ret_program, struct kettle_error *err);

#endif
