/* SPDX-License-Identifier: MIT */
/* The allow-list of system calls, as a BPF program. Private to the library. */
#ifndef KETTLE_SANDBOX_SECCOMP_H
#define KETTLE_SANDBOX_SECCOMP_H

#include <kettle/error.h>
#include <linux/filter.h>
#include <stdbool.h>

/* Whether the kernel supports filters. [any] */
int sandbox_seccomp_present(void);
/*
 * Builds the filter of this architecture; the caller frees ret_program->filter. counts: allow
 * perf_event_open for the payload's own processes. device: allow any ioctl, as drivers need.
 */
int sandbox_seccomp_build(bool counts, bool device, struct sock_fprog *ret_program, struct kettle_error *err);

#endif
