/* SPDX-License-Identifier: MIT */
/* The greetings of a kettle-exec that stays: at once, once more when its tools are known, and when somebody asks. */
/*
 * Theory of operation. Tools take their time to say what version they are: seconds, where nothing is remembered and a
 * package is large. Jobs do not wait for that, since what their own steps start is asked with them. So the first
 * greeting is without tools. A thread of the pool asks all of them by a toolchain of its own, which shares nothing with
 * that of the jobs but the file of what is remembered; what it has learnt is handed over on the loop, and another
 * greeting says it.
 */
#include <config.h>

#include "exec/serve/greeting.h"

#include "base/cleanup.h"
#include "base/file.h"
#include "exec/machine/gpu.h"

static void
greet(struct greeting *greeting)
{
	if (!greeting->closed)
		exec_context_emit(greeting->exec, exec_context_hello(greeting->exec));
}

/* ---- tools ---- */

static void
greeting_ask(uv_work_t *work)
{
	struct greeting *greeting = work->data;
	greeting->versions = toolchain_versions(greeting->asked);
	greeting->packages = toolchain_packages(greeting->asked);
	greeting->parts = toolchain_parts(greeting->asked);
}

static void
on_asked(uv_work_t *work, int status)
{
	struct greeting *greeting = work->data;
	struct exec_context *exec = greeting->exec;
	(void)status;
	if (!greeting->closed) {
		toolchain_merge(exec->toolchain, greeting->asked);
		exec->tools = STEAL(greeting->versions);
		exec->packages = STEAL(greeting->packages);
		exec->parts = STEAL(greeting->parts);
	}
	toolchain_free(STEAL(greeting->asked));
	json_decref(STEAL(greeting->versions));
	json_decref(STEAL(greeting->packages));
	json_decref(STEAL(greeting->parts));
	greet(greeting);
}

/* Where no thread can be had it takes the time that it takes. */
static void
ask_tools(struct greeting *greeting)
{
	AUTO_FREE char *memory = path_join(greeting->exec->config.state, EXEC_TOOLS_FILE);
	greeting->tools.data = greeting;
	greeting->asked = memory ? toolchain_new(&greeting->exec->config, memory) : NULL;
	if (!greeting->asked || uv_queue_work(greeting->exec->loop, &greeting->tools, greeting_ask, on_asked) == 0)
		return;
	greeting_ask(&greeting->tools);
	on_asked(&greeting->tools, 0);
}

void
greeting_open(struct greeting *greeting, struct exec_context *exec)
{
	greeting->exec = exec;
	greet(greeting);
	ask_tools(greeting);
}

void
greeting_close(struct greeting *greeting)
{
	greeting->closed = true;
	if (greeting->asked)
		toolchain_stop(greeting->asked);
}

/* ---- GPUs ---- */

static void
read_gpus(uv_work_t *work)
{
	struct greeting *greeting = work->data;
	(void)gpu_read(&greeting->exec->config, &greeting->read, NULL);
}

static void
gpus_read(uv_work_t *work, int status)
{
	struct greeting *greeting = work->data;
	bool again = greeting->again;
	(void)status;
	greeting->reading = greeting->again = false;
	exec_context_take_gpus(greeting->exec, STEAL(greeting->read));
	greet(greeting);
	if (again && !greeting->closed)
		greeting_refresh(greeting);
}

void
greeting_refresh(struct greeting *greeting)
{
	if (greeting->closed || !greeting->exec)
		return;
	greeting->gpus.data = greeting;
	greeting->again = greeting->reading;
	if (greeting->reading)
		return;
	greeting->reading = gpu_expected(&greeting->exec->config) &&
						uv_queue_work(greeting->exec->loop, &greeting->gpus, read_gpus, gpus_read) == 0;
	if (!greeting->reading)
		greet(greeting);
}
