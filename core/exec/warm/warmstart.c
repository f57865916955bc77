/* SPDX-License-Identifier: MIT */
/* Starts the interpreter of a warm process. */
/*
 * Theory of operation. The interpreter is a child of the loop, started with what a step of its kind has: environment,
 * cores, the stack that threads get. Standard output and error are one pipe; descriptor 3 is the socket by which it serves,
 * 4 the file for its memory.
 */
#include <config.h>

#include "exec/warm/warmstart.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "base/cleanup.h"
#include "exec/tools/interpreter.h"

#define STACK_BYTES (64u << 20) /* the sandbox's, which the C library reads once, for the stacks of threads */
#define ARGUMENTS_MAX 64

/* The list is the caller's, its strings are not; NULL: no memory or too many. */
static char **
make_arguments(const struct warmstart *start)
{
	static char number[] = "3", image[] = "4", none[] = "-1";
	const struct warm_key *key = start->key;
	char **list = calloc(ARGUMENTS_MAX, sizeof(*list));
	size_t count = 0, i;
	const json_t *name;
	if (!list || json_array_size(key->modules) > ARGUMENTS_MAX - 7) {
		free(list);
		return NULL;
	}
	list[count++] = key->tool->path;
	list[count++] = (char *)"-c";
	list[count++] = (char *)interpreter_loader;
	list[count++] = (char *)start->module;
	list[count++] = number;
	list[count++] = start->image >= 0 ? image : none;
	json_array_foreach(key->modules, i, name)
		list[count++] = (char *)json_string_value(name);
	return list;
}

static char **
make_environment(const json_t *environment)
{
	char **list = calloc(json_object_size(environment) + 1, sizeof(*list));
	size_t count = 0;
	const char *name;
	json_t *value;
	json_object_foreach((json_t *)environment, name, value)
		if (list && asprintf(&list[count], "%s=%s", name, json_string_value(value)) >= 0)
			count++;
	return list;
}

static void
free_environment(char **list)
{
	for (char **item = list; item && *item; item++)
		free(*item);
	free(list);
}

/* What a child inherits and libuv has no words for: cores, and the stack that threads get. */
static int
spawn_with(uv_loop_t *loop, uv_process_t *child, const uv_process_options_t *options, const struct cores *cores)
{
	struct rlimit before, stack;
	cpu_set_t own, theirs;
	bool limited = getrlimit(RLIMIT_STACK, &before) == 0;
	bool bound = sched_getaffinity(0, sizeof(own), &own) == 0;
	stack = before;
	stack.rlim_cur = before.rlim_max < STACK_BYTES ? before.rlim_max : STACK_BYTES;
	CPU_ZERO(&theirs);
	for (size_t i = 0; i < cores->count; i++)
		CPU_SET((size_t)cores->list[i], &theirs);
	if (limited)
		(void)setrlimit(RLIMIT_STACK, &stack);
	if (bound && cores->count > 0)
		(void)sched_setaffinity(0, sizeof(theirs), &theirs);
	int rc = uv_spawn(loop, child, options);
	if (bound)
		(void)sched_setaffinity(0, sizeof(own), &own);
	if (limited)
		(void)setrlimit(RLIMIT_STACK, &before);
	return rc;
}

int
warmstart_spawn(uv_loop_t *loop, const struct warmstart *start, uv_process_t *child)
{
	AUTO_FREE char **arguments = make_arguments(start);
	char **environment = make_environment(start->key->environment);
	AUTO_FD int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
	uv_stdio_container_t stdio[] = {{UV_INHERIT_FD, {.fd = nothing}}, {UV_INHERIT_FD, {.fd = start->output}},
		{UV_INHERIT_FD, {.fd = start->output}}, {UV_INHERIT_FD, {.fd = start->socket}}, {.flags = UV_IGNORE}};
	if (start->image >= 0)
		stdio[4] = (uv_stdio_container_t){UV_INHERIT_FD, {.fd = start->image}};
	uv_process_options_t options = {.exit_cb = start->ended,
		.file = start->key->tool->path,
		.args = arguments,
		.env = environment,
		.cwd = "/",
		.stdio_count = ARRAY_SIZE(stdio),
		.stdio = stdio};
	int rc = -1;
	if (arguments && environment && nothing >= 0)
		rc = spawn_with(loop, child, &options, start->key->cores);
	free_environment(environment);
	return rc;
}
