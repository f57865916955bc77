/* SPDX-License-Identifier: MIT */
/* Starts the processes of a step: what each of them sees, gets and may use. */
/*
 * Theory of operation. What a sandbox is told is put together here and nowhere else: the environment, from public to
 * secret; the folders and devices of the machine that it sees; its limits; its cores; the lock that its init keeps. A
 * referee and a solver get the two ends of a socket pair and, if the plan says so, one piece of memory of a sealed
 * size. Only the first process of a step (its only one, or the referee) gets the secret and the result channel. What is
 * in the environment at the start shows in /proc for as long as the process lives, so a step may take its secret from a
 * pipe instead: it lies there whole before the start, and is gone once it was read.
 */
#include <config.h>

#include "exec/job/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "exec/machine/gpu_nodes.h"
#include "exec/tools/environment.h"
#include "exec/tools/interpreter.h"
#include "exec/job/profiling.h"
#include "base/text.h"
#include "exec/tools/toolkit.h"

#define BUILD_NICE 10

/* The descriptors that join referee and solver; -1: none. */
struct referee_link {
	int peer[2];
	int shm;
};

static int
no_memory(struct kettle_error *err)
{
	return kettle_fail(err, KETTLE_ENOMEM, "There is not enough memory to start a process.");
}

/* The tool of `toolchain` at that place; NULL: the machine lacks it. */
static const struct tool *
further_tool(const struct step *step, size_t index)
{
	const struct tool *tool = NULL;
	const json_t *name = json_array_get(json_object_get(step->plan, "toolchain"), index);
	if (!name || toolchain_find(step->job->exec->toolchain, json_string_value(name), &tool, NULL) != 0)
		return NULL;
	return tool;
}

/* The paths of the tools of `toolchain` that the machine has. New reference; NULL: no memory. */
static json_t *
further_paths(const struct step *step)
{
	json_t *paths = json_array();
	for (size_t i = 0; i < json_array_size(json_object_get(step->plan, "toolchain")); i++) {
		const struct tool *tool = further_tool(step, i);
		if (tool)
			(void)json_array_append_new(paths, json_string(tool->path));
	}
	return paths;
}

/* The whole environment as an object; what comes later wins. New reference. */
static json_t *
make_environment(const struct step_process *process, bool first)
{
	const struct step *step = process->step;
	const struct exec_context *exec = step->job->exec;
	AUTO_JSON json_t *further = further_paths(step);
	AUTO_JSON json_t *env = environment_make(&exec->config, process->tool ? process->tool->path : NULL, further);
	int rc = env ? 0 : -1;
	if (rc == 0)
		rc = gpu_nodes_environment(exec->gpus, step->visible, env);
	if (rc == 0 && json_object_get(process->plan, "env"))
		rc = json_object_update(env, json_object_get(process->plan, "env"));
	if (rc == 0 && process->tool)
		rc = environment_add_tool(&exec->config, process->tool->name, env);
	const char *secret_fd = json_string_value(json_object_get(step->plan, "secret_fd"));
	if (rc == 0 && first && secret_fd)
		rc = json_object_set_new(env, secret_fd, json_sprintf("%d", STEP_FD_SECRET));
	else if (rc == 0 && first && json_object_get(step->plan, "secret"))
		rc = json_object_update(env, json_object_get(step->plan, "secret"));
	const char *result = json_string_value(json_object_get(step->plan, "result"));
	if (rc == 0 && first && result)
		rc = json_object_set_new(env, result, json_sprintf("%d", STEP_FD_RESULT));
	if (rc == 0 && step->count > 1)
		rc = json_object_set_new(env, "KETTLE_PEER_FD", json_sprintf("%d", STEP_FD_PEER));
	if (rc == 0 && step->count > 1 && json_object_get(step->plan, "share"))
		rc = json_object_set_new(env, "KETTLE_SHM_FD", json_sprintf("%d", STEP_FD_SHM));
	return rc == 0 ? STEAL(env) : NULL;
}

/* Whether an input lies below out/, where the process may write. */
static bool
fills_out(const json_t *plan)
{
	const char *name;
	json_t *input;
	json_object_foreach(json_object_get(plan, "inputs"), name, input)
		if (strncmp(name, "out/", 4) == 0)
			return true;
	return false;
}

/* The folders that it sees besides the system: exec.yml's `read`, the step's, those of its tools. New reference. */
static json_t *
seen_folders(const struct step_process *process)
{
	const struct step *step = process->step;
	struct toolchain *toolchain = step->job->exec->toolchain;
	AUTO_JSON json_t *seen = json_array();
	int rc = seen ? 0 : KETTLE_ENOMEM;
	if (rc == 0 && step->job->exec->config.read)
		rc = json_array_extend(seen, step->job->exec->config.read);
	if (rc == 0 && json_object_get(step->plan, "folders"))
		rc = json_array_extend(seen, json_object_get(step->plan, "folders"));
	if (rc == 0 && process->tool)
		rc = toolchain_roots(toolchain, process->tool, seen);
	if (rc == 0)
		rc = gpu_nodes_folders(step->job->exec->gpus, step->visible, seen);
	if (rc == 0 && step->profiler)
		rc = toolchain_roots(toolchain, step->profiler, seen);
	for (size_t i = 0; rc == 0 && i < json_array_size(json_object_get(step->plan, "toolchain")); i++) {
		const struct tool *tool = further_tool(step, i);
		rc = tool ? toolchain_roots(toolchain, tool, seen) : 0;
	}
	return rc == 0 ? STEAL(seen) : NULL;
}

/* What it sees of the machine besides the system: folders, kettle-profile, the device. Both lists lend their texts. */
static struct sandbox_bind *
make_binds(const struct step *step, const json_t *folders, const json_t *nodes, size_t *ret_count)
{
	const json_t *path;
	size_t count = 0, i;
	struct sandbox_bind *binds =
		calloc(json_array_size(folders) + json_array_size(nodes) + WARM_BINDS + 2, sizeof(*binds));
	if (!binds)
		return NULL;
	json_array_foreach(folders, i, path)
		binds[count++] = (struct sandbox_bind){.source = json_string_value(path), .optional = true};
	if (step->helper)
		binds[count++] = profiling_bind(step);
	json_array_foreach(nodes, i, path)
		binds[count++] = (struct sandbox_bind){.source = json_string_value(path), .optional = true, .device = true};
	count += warm_binds(step->warm.process, folders, &binds[count]);
	*ret_count = count;
	return binds;
}

static bool
has_toolkit(const struct tool *tool)
{
	return toolkit_is_nvcc(tool->name) || toolkit_is_hipcc(tool->name);
}

const struct tool *
launch_toolkit(const struct step_process *process)
{
	const json_t *further = json_object_get(process->step->plan, "toolchain");
	if (process->tool && has_toolkit(process->tool))
		return process->tool;
	for (size_t i = 0; i < json_array_size(further); i++) {
		const struct tool *tool = further_tool(process->step, i);
		if (tool && has_toolkit(tool))
			return tool;
	}
	return process->tool ? process->tool : further_tool(process->step, 0);
}

/* The arguments, with the place of the toolkit where they ask for it, behind a profiler's. New reference. */
static json_t *
make_arguments(const struct step_process *process)
{
	struct toolchain *toolchain = process->step->job->exec->toolchain;
	const struct tool *tool = launch_toolkit(process);
	AUTO_JSON json_t *spelt = json_array();
	const json_t *word;
	size_t i;
	json_array_foreach(json_object_get(process->plan, "argv"), i, word) {
		const char *text = json_string_value(word);
		const json_t *facts = toolkit_has_placeholder(text) && tool ? toolchain_facts(toolchain, tool) : NULL;
		int rc = facts ? toolkit_expand(text, facts, spelt) : json_array_append(spelt, (json_t *)word);
		if (rc != 0)
			return NULL;
	}
	/* An interpreter finds itself, and from there its libraries, by the name that it was called by; so does nvcc. */
	if (process->tool && (interpreter_is(process->tool->path) || process->tool->packages) &&
		json_array_set_new(spelt, 0, json_string(process->tool->path)) != 0)
		return NULL;
	return process->step->helper ? profiling_argv(process, spelt) : STEAL(spelt);
}

static struct sandbox_limits
make_limits(const struct limits *limits)
{
	return (struct sandbox_limits){
		.cpu_ns = limits->cpu,
		.memory = limits->memory,
		.processes = limits->processes,
		.disk = limits->disk,
		.shm = limits->shm,
	};
}

/* The descriptors of a process besides the usual three and the result channel; how many. */
static size_t
list_descriptors(const struct step *step, size_t index, const struct referee_link *link, struct sandbox_fd *fds)
{
	size_t count = 0;
	if (link->peer[index] >= 0)
		fds[count++] = (struct sandbox_fd){link->peer[index], STEP_FD_PEER};
	if (link->shm >= 0)
		fds[count++] = (struct sandbox_fd){link->shm, STEP_FD_SHM};
	if (index == 0 && step->secret >= 0)
		fds[count++] = (struct sandbox_fd){step->secret, STEP_FD_SECRET};
	return count;
}

/* Starts one; everything that config points to is freed again when this returns. */
static int
launch(struct step_process *process, size_t index, const struct referee_link *link, void (*ended)(void *arg),
	void (*on_lost)(void *arg), struct kettle_error *err)
{
	struct step *step = process->step;
	const struct exec_context *exec = step->job->exec;
	const char *program = step->helper ? profiling_program(step) : process->tool ? process->tool->path : NULL;
	bool on_device = step->kind == STEP_RUN || step->device > 0;
	const struct cores *cores = on_device ? &step->cores : exec->build;
	struct sandbox_fd fds[3];
	int keep[JOB_MAX_DEVICES];
	size_t binds_count = 0;
	AUTO_JSON json_t *argv = make_arguments(process);
	AUTO_JSON json_t *environment = make_environment(process, index == 0);
	AUTO_JSON json_t *nodes = json_array();
	AUTO_JSON json_t *folders = seen_folders(process);
	if (!argv || !environment || !nodes || !folders || gpu_nodes_nodes(exec->gpus, step->visible, nodes) != 0)
		return no_memory(err);
	AUTO_FREE struct sandbox_bind *binds = make_binds(step, folders, nodes, &binds_count);
	AUTO_JSON json_t *flat = environment_flatten(environment);
	AUTO_FREE const char **args = environment_pointers(argv);
	AUTO_FREE const char **env = environment_pointers(flat);
	if (!binds || !flat || !args || !env)
		return no_memory(err);
	struct process_config config = {
		.sandbox.level = step->job->unit.level,
		.sandbox.file = program ? program : args[0],
		.sandbox.argv = args,
		.sandbox.envp = env,
		.sandbox.job_dir = process->dir,
		.sandbox.job_writable = step->kind == STEP_PREPARE,
		.sandbox.out_filled = fills_out(process->plan),
		.sandbox.counts = profiling_counts(step),
		.sandbox.binds = binds,
		.sandbox.binds_count = binds_count,
		.sandbox.fds = fds,
		.sandbox.fds_count = list_descriptors(step, index, link, fds),
		.sandbox.keep = keep,
		.sandbox.keep_count = device_lease_descriptors(step->job, keep),
		.sandbox.limits = make_limits(&process->limits),
		.sandbox.cores = cores->list,
		.sandbox.cores_count = cores->count,
		.sandbox.init_cores = exec->build->list,
		.sandbox.init_cores_count = exec->build->count,
		/* A build on the same core must not be in the way of what is being timed. */
		.sandbox.nice = on_device ? 0 : BUILD_NICE,
		.sandbox.machine = exec->machine,
		.sandbox.warm = warm_sandbox(step->warm.process),
		.wall_ns = process->limits.wall,
		.output_limit = process->limits.output,
		.result = index == 0 && step->result.values ? &step->result : NULL,
		.result_target = STEP_FD_RESULT,
	};
	process->running = true;
	process_start(&process->process, exec->loop, &config, ended, on_lost, process);
	warm_after_start(STEAL(step->warm.process));
	return 0;
}

static int
make_joint(const struct step *step, struct referee_link *link, struct kettle_error *err)
{
	if (step->count > 1 && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, link->peer) != 0)
		return kettle_fail(err, KETTLE_EIO, "A socket pair could not be made: %s.", strerror(errno));
	json_int_t share = json_integer_value(json_object_get(step->plan, "share"));
	if (share == 0)
		return 0;
	link->shm = memfd_create("kettle", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	/* Whoever maps it must not be hurt by the other making it smaller. */
	if (link->shm < 0 || ftruncate(link->shm, share) != 0 ||
		fcntl(link->shm, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
		return kettle_fail(err, KETTLE_EIO, "Shared memory could not be made: %s.", strerror(errno));
	return 0;
}

int
launch_secret(struct step *step, struct kettle_error *err)
{
	AUTO_BUF struct buf lines = {0};
	const char *name;
	json_t *value;
	int ends[2], rc = 0;
	if (!json_object_get(step->plan, "secret_fd"))
		return 0;
	json_object_foreach(json_object_get(step->plan, "secret"), name, value)
		if (rc == 0)
			rc = buf_printf(&lines, "%s=%s\n", name, json_string_value(value));
	if (rc != 0)
		return no_memory(err);
	if (pipe2(ends, O_CLOEXEC) != 0)
		return kettle_fail(err, KETTLE_EIO, "A pipe could not be made: %s.", strerror(errno));
	step->secret = ends[0];
	/* A plan is checked for what fits into a pipe. */
	bool written = lines.len == 0 || write(ends[1], lines.data, lines.len) == (ssize_t)lines.len;
	close(ends[1]);
	return written ? 0 : kettle_fail(err, KETTLE_EIO, "A secret could not be handed over: %s.", strerror(errno));
}

bool
launch_secret_unread(const struct step *step)
{
	int left = 0;
	return step->secret >= 0 && ioctl(step->secret, FIONREAD, &left) == 0 && left > 0;
}

/* Names that differ from run to run, and that nothing reads before a script does. */
static bool
is_own_name(const char *name)
{
	return strncmp(name, "KETTLE_", strlen("KETTLE_")) == 0 || strncmp(name, "POPCORN_", strlen("POPCORN_")) == 0;
}

/* What an interpreter and its libraries may read before the script begins; new reference. */
static json_t *
make_early_environment(const struct step_process *process)
{
	AUTO_JSON json_t *env = make_environment(process, false);
	const char *name;
	json_t *value;
	void *next;
	json_object_foreach_safe(env, next, name, value) {
		if (is_own_name(name))
			(void)json_object_del(env, name);
	}
	if (env && !json_object_get(env, "HOME"))
		(void)json_object_set_new(env, "HOME", json_string(SANDBOX_HOME));
	if (env && !json_object_get(env, "TMPDIR"))
		(void)json_object_set_new(env, "TMPDIR", json_string("/tmp"));
	return STEAL(env);
}

/* Whether a script is all that a step runs; whether a copy is as good as a fresh interpreter, interpreter_copies knows. */
static bool
may_begin_warm(const struct step *step)
{
	const struct step_process *process = &step->processes[0];
	const json_t *argv = json_object_get(process->plan, "argv");
	const char *script = json_string_value(json_array_get(argv, 1));
	return step->job->exec->warm && step->kind == STEP_RUN && step->count == 1 && !step->helper && process->tool &&
		   script && json_object_get(step->plan, "warm") && step->job->unit.level != SANDBOX_LEVEL_OFF &&
		   json_object_get(json_object_get(process->plan, "inputs"), script);
}

bool
launch_request_warm(struct step *step, void (*again)(void *arg))
{
	const struct step_process *process = &step->processes[0];
	if (!may_begin_warm(step))
		return false;
	AUTO_JSON json_t *env = make_early_environment(process);
	if (!env || !interpreter_copies(process->tool->path, env))
		return false;
	const struct warm_key key = {
		.tool = process->tool,
		.modules = json_object_get(json_object_get(step->plan, "warm"), "preload"),
		.environment = env,
		.cores = &step->cores,
	};
	step->warm.ended = again;
	step->warm.arg = step;
	return warm_request(step->job->exec->warm, &key, &step->warm);
}

int
launch_step(struct step *step, void (*ended)(void *arg), void (*on_lost)(void *arg), struct kettle_error *err)
{
	struct referee_link link = {.peer = {-1, -1}, .shm = -1};
	int rc = make_joint(step, &link, err);
	/* The referee last: it may begin to speak at once. */
	for (size_t i = step->count; rc == 0 && i-- > 0;)
		rc = launch(&step->processes[i], i, &link, ended, on_lost, err);
	int fds[] = {link.peer[0], link.peer[1], link.shm};
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		if (fds[i] >= 0)
			close(fds[i]);
	return rc;
}
