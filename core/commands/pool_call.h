/* SPDX-License-Identifier: MIT */
/* Handlers whose work blocks: a thread of the pool does it, then the loop answers the command. */
#ifndef KETTLE_COMMANDS_POOL_CALL_H
#define KETTLE_COMMANDS_POOL_CALL_H

#include "session/command.h"

struct pool_call;

/* In the pool. Outputs are untouched on failure. */
typedef int pool_work(struct pool_call *call, json_t **ret_result, struct kettle_error *err);

struct pool_call {
	struct core *core;
	const struct languages *languages; /* as they were when it began: a reload changes the core's */
	struct waiter waiter;
	json_t *args; /* a copy */
	json_t *result;
	json_t *bundles; /* of cmd_task.c: bundles that must still be probed, or NULL */
	json_t *choices; /* of cmd_task.c: one file as a task in each of several languages, or NULL */
	struct kettle_error err;
	pool_work *work;
	void (*then)(struct pool_call *call);
	kettle_answer answer;
	void *arg;
};

/* Begins the work. Then `then` is called on the loop; it is pool_call_answer, or ends with a call of it. */
void pool_call_start(struct core *core, const struct actor *actor, const json_t *args, pool_work *work,
	void (*then)(struct pool_call *call), kettle_answer answer, void *arg);
/* Answers with the result, or the error, and frees the call. */
void pool_call_answer(struct pool_call *call);

#endif
