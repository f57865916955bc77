/* SPDX-License-Identifier: MIT */
/* Handlers whose work blocks: a thread of the pool does it, then the loop answers the command. */
#pragma once

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
	struct {               /* of cmd_task.c */
		json_t *bundles;   /* [entry, bundle] of task.check that are still to be tried, or NULL */
		json_t *languages; /* that fit the task at hand, or NULL */
		size_t index;      /* of the present path */
		char *name;        /* of a file that was sent, with these bytes */
		void *data;
		size_t size;
	} task;
	struct kettle_error err;
	pool_work *work;
	void (*then)(struct pool_call *call);
	kettle_answer answer;
	void *arg;
};

/* A call whose work has not begun. */
struct pool_call *pool_call_new(
	struct core *core, const struct actor *actor, const json_t *args, kettle_answer answer, void *arg);
/* Begins the work. Then `then` is called on the loop; it is pool_call_answer, begins more work, or ends with one of them. */
void pool_call_run(struct pool_call *call, pool_work *work, void (*then)(struct pool_call *call));
/* Both. */
void pool_call_start(struct core *core, const struct actor *actor, const json_t *args, pool_work *work,
	void (*then)(struct pool_call *call), kettle_answer answer, void *arg);
/* Answers with the result, or the error, and frees the call. */
void pool_call_answer(struct pool_call *call);
