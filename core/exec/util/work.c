/* SPDX-License-Identifier: MIT */
/* Work on a thread of libuv's pool. */
#include <config.h>

#include "exec/util/work.h"

static void
run_work(uv_work_t *request)
{
	struct work *work = request->data;
	work->run(work->arg);
}

static void
work_done(uv_work_t *request, int status)
{
	struct work *work = request->data;
	(void)status;
	work->done(work->arg);
}

void
work_start(struct work *work, uv_loop_t *loop, void (*run)(void *arg), void (*done)(void *arg), void *arg)
{
	work->run = run;
	work->done = done;
	work->arg = arg;
	work->request.data = work;
	/* It fails only for a missing callback. */
	(void)uv_queue_work(loop, &work->request, run_work, work_done);
}
