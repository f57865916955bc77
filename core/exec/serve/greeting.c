/* SPDX-License-Identifier: MIT */
/* The greetings of a kettle-exec that stays: at once, once more when its tools are known, and at each `hello`. */
/*
 * Theory of operation. Tools take their time to say what version they are: seconds, where nothing is remembered and a
 * package is large. Jobs do not wait for that, since the tools of their own steps are probed with them. So the first
 * greeting is without tools. A thread of the pool probes all of them by a toolchain of its own, which shares nothing with
 * that of the jobs but the file of what is remembered; what it has learnt is handed over on the loop, and another
 * greeting says it.
 */
#include <config.h>

#include "exec/serve/serve.h"

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
find_tools(void *arg)
{
	struct greeting *greeting = arg;
	greeting->found = toolchain_report(greeting->finder);
}

static void
tools_found(void *arg)
{
	struct greeting *greeting = arg;
	struct exec_context *exec = greeting->exec;
	if (!greeting->closed) {
		toolchain_merge(exec->toolchain, greeting->finder);
		exec->tools = greeting->found;
		greeting->found = (struct tool_report){0};
	}
	toolchain_free(STEAL(greeting->finder));
	tool_report_free(&greeting->found);
	greet(greeting);
}

void
greeting_open(struct greeting *greeting, struct exec_context *exec)
{
	greeting->exec = exec;
	greet(greeting);
	AUTO_FREE char *memory = path_join(exec->config.state, EXEC_TOOLS_FILE);
	greeting->finder = toolchain_new(&exec->config, memory);
	work_start(&greeting->tools, exec->loop, find_tools, tools_found, greeting);
}

void
greeting_close(struct greeting *greeting)
{
	greeting->closed = true;
	if (greeting->finder)
		toolchain_stop(greeting->finder);
}

/* ---- GPUs ---- */

static void
read_gpus(void *arg)
{
	struct greeting *greeting = arg;
	(void)gpu_read(&greeting->exec->config, &greeting->read, NULL);
}

static void
gpus_read(void *arg)
{
	struct greeting *greeting = arg;
	bool again = greeting->again;
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
	greeting->again = greeting->reading;
	if (greeting->reading)
		return;
	greeting->reading = gpu_expected(&greeting->exec->config);
	if (greeting->reading)
		work_start(&greeting->gpus, greeting->exec->loop, read_gpus, gpus_read, greeting);
	else
		greet(greeting);
}
