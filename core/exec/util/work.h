/* SPDX-License-Identifier: MIT */
/* Work beside the loop. Loop thread. */
#pragma once

#include <stdbool.h>
#include <uv.h>

struct work {
	uv_thread_t thread;
	uv_async_t ended;
	uv_work_t request; /* used if no thread could be made */
	void (*run)(void *arg);
	void (*done)(void *arg);
	void *arg;
};

/*
 * Calls run on a thread of its own, then done on the loop's thread; `work` must stay where it is until then. Work that
 * waits for a tool, a file system or the close of a descriptor therefore holds up nothing else; the number of jobs and
 * processes limits that of threads. If the machine gives no thread, the work waits for one of libuv's pool.
 */
void work_start(struct work *work, uv_loop_t *loop, void (*run)(void *arg), void (*done)(void *arg), void *arg);
