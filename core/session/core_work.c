/* SPDX-License-Identifier: MIT */
/* Work in the pool that uses a core. The end of the core waits for it. */
#include <config.h>

#include "session/core_internal.h"

#include "base/base.h"

struct core_work {
	struct core *core;
	void (*work)(void *arg), (*after)(void *arg);
	void *arg;
};

static void
work_run(void *arg)
{
	struct core_work *work = arg;
	work->work(work->arg);
}

static void
tell_closed(struct core *core)
{
	if (core->ending.idle && core->works == 0 && core->ending.closed)
		STEAL(core->ending.closed)(core->ending.arg);
}

static void
work_after(void *arg)
{
	struct core_work *work = arg;
	struct core *core = work->core;
	work->after(work->arg);
	free(work);
	core_release(core);
}

void
core_hold(struct core *core)
{
	core->works++;
}

void
core_release(struct core *core)
{
	core->works--;
	tell_closed(core);
}

int
core_work(struct core *core, void (*run)(void *arg), void (*after)(void *arg), void *arg, struct kettle_error *err)
{
	struct core_work *work = xnew(struct core_work, core, run, after, arg);
	int rc = loop_work(core->setup.io, work_run, work_after, work, err);
	if (rc < 0)
		free(work);
	else
		core_hold(core);
	return rc;
}

void
core_ended(void *arg)
{
	struct core *core = arg;
	core->ended = core->ending.idle = true;
	tell_closed(core);
}
