/* SPDX-License-Identifier: MIT */
/* One run of a task here and now, without a database: a job that no queue knows. Loop thread. */
#pragma once

#include "engine/inflight.h"
#include "judge/verdict.h"
#include "session/core.h"

/* A run without a database. */
struct task_run {
	struct inflight_job job; /* first */
	struct core *core;
	struct waiter waiter; /* gets the progress; the run ends with it, and with the engine */
	struct kettle_timer *watch;
	json_t *args, *bundle, *unit;
	struct plan *plan;
	json_t *units;          /* of the device, the used one included */
	size_t index;           /* of the used one */
	bool unless_busy, busy; /* it ends with an error instead of waiting for the unit; it has done so */
	char *code;
	struct kettle_error err;
	struct verdict *verdict; /* if err has no code */
	const json_t *kept;      /* of the completion */
	/* Called once at the end; the run is freed then. */
	void (*ended)(struct task_run *run);
	kettle_answer answer; /* of task.run */
	void *arg;
};

/*
 * Plans the code for a unit (index) of the device that the arguments name, else of the first device, and runs it there;
 * arg is a struct task_run from malloc with core, waiter, args ({"mode", "device"?, "keep"?}), bundle, code and ended, or with
 * err. `ended` is called once, perhaps before this returns, with verdict or err; the run is freed after it.
 */
void task_run_begin(void *arg);
/* Calls `ended` and frees the run, which no runner has. */
void task_run_end(struct task_run *run);
