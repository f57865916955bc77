/* SPDX-License-Identifier: MIT */
/* The start of a warm process: the file for its memory, arguments and environment. */
#include <config.h>

#include "exec/warm/warm_internal.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/base.h"
#include "base/file.h"
#include "base/text.h"
#include "exec/tools/tools.h"

#define WORDS_MAX 57            /* modules and recipes */
#define REPORT "5"              /* the number of its descriptor */
#define STACK_BYTES (64u << 20) /* as in the sandbox; the C library reads it once, for the stacks of threads */

void
warm_order_make(struct warm_order *order, const struct warm_key *key)
{
	*order = (struct warm_order){.name = xstrdup(key->tool->name),
		.path = xstrdup(key->tool->path),
		.real = xstrdup(key->tool->real),
		.environment = json_deep_copy(key->environment)};
	strings_add_all(&order->modules, key->modules);
	if (key->recipes)
		strings_add_all(&order->recipes, key->recipes);
	cores_join(&order->cores, key->cores);
}

void
warm_order_free(struct warm_order *order)
{
	free_all(order->name, order->path, order->real);
	strings_free(&order->modules);
	strings_free(&order->recipes);
	json_decref(order->environment);
	cores_free(&order->cores);
}

void
warm_prepare_image(struct warm_process *process)
{
	image_remove(&process->image);
	free(STEAL(process->home));
	/* PREFIX/bin/python3.11 is installed in PREFIX. */
	AUTO_FREE char *home = path_above(process->order.real, 2);
	if (!home[0] || !process->pool->stand_in || image_make(process->pool->setup.spool, &process->image) != 0)
		return;
	process->home = STEAL(home);
}

/* Starts a child with settings for which libuv has no options: cores, and the stack size of threads. */
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

static bool
is_confined(const struct warm_process *process)
{
	const struct strings *entitled = &process->pool->entitled;
	bool is = geteuid() == 0;
	for (size_t i = 0; is && i < entitled->count; i++)
		is = strcmp(entitled->list[i], process->key) != 0;
	return is;
}

static void
make_arguments(const struct warm_process *process, struct strings *arguments)
{
	const char *module = process->pool->module, *path = process->order.path;
	const char *const first[] = {path, "-I", "-S", "-c", interpreter_confiner, module, REPORT};
	const char *const words[] = {path, "-s", "-c", interpreter_loader, module, "3", process->image.path ? "4" : "-1"};
	for (size_t i = 0; process->report_fd >= 0 && i < ARRAY_SIZE(first); i++)
		strings_add(arguments, first[i]);
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		strings_add(arguments, words[i]);
	strings_add_all(arguments, &process->order.modules);
	for (size_t i = 0; i < process->order.recipes.count; i++)
		strings_take(arguments, xasprintf("+%s", process->order.recipes.list[i]));
}

/* Does not use JSON, which cannot hold every path. */
static void
make_environment(const struct warm_process *process, struct strings *environment)
{
	AUTO_JSON json_t *own = json_copy(process->order.environment);
	static const char *const folders[][2] = {{"HOME", "KETTLE_WARM_HOME"}, {"TMPDIR", "KETTLE_WARM_TMPDIR"}};
	for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
		json_object_set(own, folders[i][1], json_object_get(own, folders[i][0]));
		json_object_del(own, folders[i][0]);
	}
	environment_list(own, environment);
	strings_take(environment, xasprintf("HOME=%s/" WARM_HOME, process->private));
	strings_take(environment, xasprintf("TMPDIR=%s/" WARM_TEMPORARY, process->private));
	strings_take(environment, xasprintf("KETTLE_WARM_CACHE=%s/" WARM_CACHE, process->private));
}

int
warm_spawn(struct warm_process *process, int socket, int output, uv_exit_cb ended)
{
	AUTO_STRINGS struct strings arguments = {0};
	AUTO_STRINGS struct strings environment = {0};
	AUTO_FD int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
	int report[2] = {-1, -1};
	if (nothing < 0 || process->order.modules.count + process->order.recipes.count > WORDS_MAX ||
		(is_confined(process) && pipe2(report, O_CLOEXEC | O_NONBLOCK) != 0))
		return -1;
	process->report_fd = report[0];
	AUTO_FD int theirs = report[1];
	make_arguments(process, &arguments);
	make_environment(process, &environment);
	uv_stdio_container_t stdio[] = {{UV_INHERIT_FD, {.fd = nothing}}, {UV_INHERIT_FD, {.fd = output}},
		{UV_INHERIT_FD, {.fd = output}}, {UV_INHERIT_FD, {.fd = socket}}, {.flags = UV_IGNORE}, {.flags = UV_IGNORE}};
	if (process->image.path)
		stdio[4] = (uv_stdio_container_t){UV_INHERIT_FD, {.fd = process->image.fd}};
	if (theirs >= 0)
		stdio[5] = (uv_stdio_container_t){UV_INHERIT_FD, {.fd = theirs}};
	uv_process_options_t options = {.exit_cb = ended,
		.flags = UV_PROCESS_DETACHED, /* a group of its own, so that its children end with it */
		.file = process->order.path,
		.args = (char **)arguments.list,
		.env = (char **)environment.list,
		.cwd = "/",
		.stdio_count = ARRAY_SIZE(stdio),
		.stdio = stdio};
	return spawn_with(process->pool->setup.loop, &process->child, &options, &process->order.cores);
}
