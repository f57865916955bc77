/* SPDX-License-Identifier: MIT */
/* Work on a thread of libuv's pool. Loop thread. */
#ifndef KETTLE_EXEC_UTIL_WORK_H
#define KETTLE_EXEC_UTIL_WORK_H

#include <uv.h>

struct work {
	uv_work_t request;
	void (*run)(void *arg);
	void (*done)(void *arg);
	void *arg;
};

/* Calls run on a thread of the pool, then done on the loop's; `work` must stay where it is until then. */
void work_start(struct work *work, uv_loop_t *loop, void (*run)(void *arg), void (*done)(void *arg), void *arg);

#endif
