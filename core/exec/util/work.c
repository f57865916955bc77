/* SPDX-License-Identifier: MIT */
/* Work beside the loop, each on a thread of its own, so that none waits for another. */
#include <config.h>

#include "exec/util/work.h"

static void
run_pooled(uv_work_t *request)
{
	struct work *work = request->data;
	work->run(work->arg);
}

static void
pooled_done(uv_work_t *request, int status)
{
	struct work *work = request->data;
	(void)status;
	work->done(work->arg);
}

static void
start_pooled(uv_handle_t *handle)
{
	struct work *work = handle->data;
	work->request.data = work;
	/* It fails only without a callback. */
	(void)uv_queue_work(handle->loop, &work->request, run_pooled, pooled_done);
}

static void
run_work(void *arg)
{
	struct work *work = arg;
	work->run(work->arg);
	(void)uv_async_send(&work->ended);
}

static void
work_done(uv_handle_t *handle)
{
	struct work *work = handle->data;
	work->done(work->arg);
}

static void
on_work_ended(uv_async_t *async)
{
	struct work *work = async->data;
	(void)uv_thread_join(&work->thread);
	uv_close((uv_handle_t *)async, work_done);
}

void
work_start(struct work *work, uv_loop_t *loop, void (*run)(void *arg), void (*done)(void *arg), void *arg)
{
	work->run = run;
	work->done = done;
	work->arg = arg;
	/* It fails only for a loop's first handle, and libuv has one of its own. */
	(void)uv_async_init(loop, &work->ended, on_work_ended);
	work->ended.data = work;
	if (uv_thread_create(&work->thread, run_work, work) != 0)
		uv_close((uv_handle_t *)&work->ended, start_pooled);
}
