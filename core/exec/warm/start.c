/* SPDX-License-Identifier: MIT */
/* The start of a warm process: its HOME, the file for its memory, its arguments and environment. */
#include <config.h>

#include "exec/warm/warm_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/text.h"
#include "base/xalloc.h"
#include "exec/tools/tools.h"

#define MODULES_MAX 57
#define STACK_BYTES (64u << 20) /* the sandbox's, which the C library reads once, for the stacks of threads */

void
warm_remove_private(struct warm_process *process)
{
	if (process->private)
		(void)file_remove_tree(process->private, NULL);
	free(STEAL(process->private));
}

void
warm_prepare_image(struct warm_process *process, const struct warm_key *parts)
{
	image_remove(&process->image);
	free(STEAL(process->real));
	free(STEAL(process->home));
	/* PREFIX/bin/python3.11 is installed in PREFIX. */
	AUTO_FREE char *home = path_above(parts->tool->real, 2);
	if (!home[0] || !process->pool->stand_in || image_make(process->pool->setup.spool, &process->image) != 0)
		return;
	process->real = xstrdup(parts->tool->real);
	process->home = STEAL(home);
}

/* Starts a child with what libuv has no options for: cores, and the stack size of threads. */
static int
spawn_with(uv_loop_t *loop, uv_process_t *child, const uv_process_options_t *options, const struct cores *cores)
{
	struct rlimit before, stack;
	cpu_set_t own, theirs;
	bool limited = getrlimit(RLIMIT_STACK, &before) == 0;
	bool bound = sched_getaffinity(0, sizeof(own), &own) == 0;
	stack = before;
	stack.rlim_cur = before.rlim_max < STACK_BYTES ? before.rlim_max : STACK_BYTES;
	cores_set(cores, &theirs);
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
warm_spawn(struct warm_process *process, const struct warm_key *key, int socket, int output, uv_exit_cb ended)
{
	int image = process->image.path ? process->image.fd : -1;
	AUTO_STRINGS struct strings arguments = {0};
	AUTO_STRINGS struct strings environment = {0};
	AUTO_FD int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (nothing < 0 || key->modules->count > MODULES_MAX)
		return -1;
	const char *const words[] = {
		key->tool->path, "-s", "-c", interpreter_loader, process->pool->module, "3", image >= 0 ? "4" : "-1"};
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		strings_add(&arguments, words[i]);
	strings_add_all(&arguments, key->modules);
	AUTO_JSON json_t *own = json_copy((json_t *)key->environment);
	json_object_set(own, "KETTLE_WARM_HOME", json_object_get(own, "HOME"));
	json_object_del(own, "HOME");
	environment_list(own, &environment);
	/* Not by way of JSON, which has no room for every path. */
	strings_take(&environment, xasprintf("HOME=%s", process->private));
	uv_stdio_container_t stdio[] = {{UV_INHERIT_FD, {.fd = nothing}}, {UV_INHERIT_FD, {.fd = output}},
		{UV_INHERIT_FD, {.fd = output}}, {UV_INHERIT_FD, {.fd = socket}}, {.flags = UV_IGNORE}};
	if (image >= 0)
		stdio[4] = (uv_stdio_container_t){UV_INHERIT_FD, {.fd = image}};
	uv_process_options_t options = {.exit_cb = ended,
		.file = key->tool->path,
		.args = (char **)arguments.list,
		.env = (char **)environment.list,
		.cwd = "/",
		.stdio_count = ARRAY_SIZE(stdio),
		.stdio = stdio};
	return spawn_with(process->pool->setup.loop, &process->child, &options, key->cores);
}

int
warm_make_private(struct warm_process *process, const struct warm_key *key, struct kettle_error *err)
{
	AUTO_FREE char *folder = xasprintf("%s/home-XXXXXX", process->pool->setup.spool);
	warm_remove_private(process);
	/* What else is in sys.path the interpreter says itself, before it imports what was wanted (warm.py). */
	int rc = interpreter_check(key->tool->path, key->environment, NULL, err);
	if (rc != 0)
		return rc;
	if (!mkdtemp(folder))
		return kettle_fail(err, KETTLE_EIO, "No folder could be made for its HOME: %s.", strerror(errno));
	process->private = STEAL(folder);
	return 0;
}
