/* SPDX-License-Identifier: MIT */
/* The allow-list of system calls, as a BPF program. Private to the library. */
#pragma once

#include <kettle/error.h>
#include <linux/filter.h>

/* Whether the kernel supports filters. [any] */
int sandbox_seccomp_present(void);
/* The differences between filters. */
enum sandbox_filter {
	SANDBOX_FILTER_COUNTS = 1,  /* allows perf_event_open for the payload's own processes */
	SANDBOX_FILTER_DEVICE = 2,  /* allows any ioctl, as drivers need */
	SANDBOX_FILTER_POLLED = 4,  /* refuses memory that is in no process's resident set, since no cgroup counts it */
	SANDBOX_FILTER_SESSION = 8, /* makes no sessions, each of which would get a share of CPU time */
	SANDBOX_FILTERS = 16
};
/* Builds the filter of this architecture for a set of enum sandbox_filter; the caller frees ret_program->filter. */
int sandbox_seccomp_build(unsigned kind, struct sock_fprog *ret_program, struct kettle_error *err);
