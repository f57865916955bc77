/* SPDX-License-Identifier: MIT */
/* Handlers whose work blocks: a thread of the pool does it, then the loop answers the command. */
#include <config.h>

#include "commands/pool_call.h"

#include "base/base.h"
#include "session/core.h"

void
pool_call_answer(struct pool_call *call)
{
	call->answer(call->arg, &call->err, call->err.code < 0 ? NULL : call->result);
	json_decref_all(call->args, call->result, call->task.bundles, call->task.languages);
	free_all(call->task.name, call->task.data, call);
}

static void
pool_call_work(void *arg)
{
	struct pool_call *call = arg;
	(void)call->work(call, &call->result, &call->err);
}

static void
pool_call_after(void *arg)
{
	struct pool_call *call = arg;
	call->then(call);
}

struct pool_call *
pool_call_new(struct core *core, const struct actor *actor, const json_t *args, kettle_answer answer, void *arg)
{
	struct pool_call *call = xnew(struct pool_call, .core = core, .languages = core->languages, .waiter = actor->waiter,
		.args = json_deep_copy(args), .answer = answer, .arg = arg);
	return call;
}

void
pool_call_run(struct pool_call *call, pool_work *work, void (*then)(struct pool_call *call))
{
	struct kettle_error err = {0};
	call->work = work;
	call->then = then;
	/* A local error: once the work has begun, call->err belongs to the other thread. */
	if (core_work(call->core, pool_call_work, pool_call_after, call, &err) < 0) {
		call->err = err;
		pool_call_answer(call);
	}
}

void
pool_call_start(struct core *core, const struct actor *actor, const json_t *args, pool_work *work,
	void (*then)(struct pool_call *call), kettle_answer answer, void *arg)
{
	pool_call_run(pool_call_new(core, actor, args, answer, arg), work, then);
}
