/* SPDX-License-Identifier: MIT */
/* System calls that another process decides on while the caller waits (SECCOMP_RET_USER_NOTIF). Private to the library. */
#pragma once

#include <linux/filter.h>
#include <linux/seccomp.h>

/*
 * Installs a filter on this process and what it starts, and returns its listener, which the caller closes; or -1 with errno:
 * EBUSY where another filter has one. Allocates nothing.
 */
int sandbox_notify_install(const struct sock_fprog *program);
/*
 * Serves the next call, for which poll has found the listener readable. `decide` returns 0, and the call goes on, or the
 * errno with which it fails.
 */
void sandbox_notify_serve(
	int listener, int (*decide)(void *arg, int listener, const struct seccomp_notif *notice), void *arg);
