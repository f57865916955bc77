/* SPDX-License-Identifier: MIT */
/*
 * The epoll watches of a run. Private to the library.
 *
 * The kernel counts them for the real user, on the whole machine (fs.epoll.max_user_watches), and shows the count
 * nowhere: with an ordinary owner a run could use up all of them, and every other program of that user that waits with
 * epoll, the owner for one, would fail. Where memory is polled, no count shows their memory. Neither limits on
 * descriptors and processes nor /proc bound them, since one descriptor can be watched under many numbers in many sets,
 * and a set may be in a message of a socket. So each call that adds a watch waits until init has counted it, for the
 * whole run; removed ones count as well. Other calls of epoll take no longer.
 */
#pragma once

#include <stdint.h>

#include "sandbox/plan.h"

struct sandbox_epoll {
	int listener;  /* -1: none */
	uint32_t left; /* watches that may be added */
};

/*
 * For init with all capabilities, before it makes the payload: limits the processes that it starts from now on, if the
 * run needs it. Where nothing can count (a build is recorded; before Linux 5.0), no set can be made: ENOSYS, as from a
 * kernel without epoll. `proc` is init's /proc. 0, or -1 with errno.
 */
int sandbox_epoll_limit(const struct sandbox_plan *plan, int proc, struct sandbox_epoll *ret_epoll);
/* Serves the next call, for which poll has found the listener readable. */
void sandbox_epoll_serve(struct sandbox_epoll *epoll);
