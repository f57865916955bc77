/* SPDX-License-Identifier: MIT */
/* Starts the processes of a step, with their view, environment and limits. */
#include <config.h>

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/base.h"
#include "base/file.h"
#include "base/installed.h"
#include "base/io.h"
#include "base/text.h"
#include "exec/job/job_internal.h"
#include "exec/tools/tools.h"

#define BUILD_NICE 10
#define PROFILER "kettle-profile"
#define PROFILER_SHOWN "/run/kettle-profile" /* its path in every sandbox */
#define HOST "kettle-host"
#define HOST_SHOWN "/run/kettle-host"
#define LIBRARY_SHOWN "/run/kettle-shm.so"

/* The descriptors that connect referee and solver; -1: none. */
struct referee_link {
	int peer[2];
	int shm;
};

static int
find_beside(struct step *step, const char *name, const struct tool **ret_tool)
{
	int rc = toolchain_find_beside(step->job->exec->toolchain, name, ret_tool, &step->failure.error);
	if (rc == KETTLE_ENOENT)
		step->tools.missing = xstrdup(name);
	return rc;
}

/* ---- profiler: kettle-profile starts the harness inside of the same sandbox ---- */

static int
find_profiler(struct step *step)
{
	int rc = find_beside(step, PROFILER, &step->tools.helper);
	if (rc == 0)
		(void)toolchain_find(step->job->exec->toolchain, step->plan->profile, &step->tools.profiler, NULL);
	return rc;
}

/*
 * Adds the choice of launches that the profiler looks at, one word for each option, so that no value is taken for an
 * option.
 */
static void
add_capture(const json_t *capture, struct strings *words)
{
	static const char *const texts[] = {"kernel", "kernel_base"}, *const numbers[] = {"launches", "skip"};
	if (json_is_false(json_object_get(capture, "range")))
		strings_add(words, "--range=no");
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		if (json_text_or_null(capture, texts[i]))
			strings_take(words, xasprintf("--%s=%s", texts[i], json_text_or_null(capture, texts[i])));
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		if (json_object_get(capture, numbers[i]))
			strings_take(words, xasprintf("--%s=%lld", numbers[i], (long long)member_int(capture, numbers[i])));
}

/* Whether the process is started under the profiler. */
static bool
is_profiled(const struct step_process *process)
{
	return process->step->tools.helper && process == STEP_SOLVER(process->step);
}

/* Adds kettle-profile's part of the command line, before the process's own. */
static void
add_profiler(const struct step_process *process, struct strings *words)
{
	const struct step *step = process->step;
	strings_add(words, PROFILER);
	strings_add(words, step->plan->profile);
	strings_add(words, step->tools.profiler ? step->tools.profiler->path : "-");
	strings_take(words, xasprintf("%d", step->plan->result || step->count > 1 ? STEP_FD_RESULT : 0));
	add_capture(step->plan->capture, words);
	strings_add(words, "--");
}

/* ---- tools, on a thread of work ---- */

/* The native library for processes that share memory. They do without it where the installation lacks it. */
static void
find_library(struct step *step)
{
	AUTO_FREE char *path = installed_path(INSTALLED_SHM);
	if (access(path, R_OK) == 0)
		step->tools.library = STEAL(path);
}

static bool
has_toolkit(const struct tool *tool)
{
	return toolkit_is_nvcc(tool->name) || toolkit_is_hipcc(tool->name);
}

static const struct tool *
find_toolkit(const struct step_process *process)
{
	size_t count = process->step->plan->toolchain.count;
	if (process->tool && has_toolkit(process->tool))
		return process->tool;
	for (size_t i = 0; i < count; i++) {
		const struct tool *tool = process->step->tools.further[i];
		if (tool && has_toolkit(tool))
			return tool;
	}
	return process->tool || count == 0 ? process->tool : process->step->tools.further[0];
}

/* Adds kettle-host, with what it keeps from the program. */
static void
add_host(const struct plan_step *plan, struct strings *words)
{
	strings_add(words, HOST);
	if (!plan->supervised)
		return;
	strings_add(words, "--channel");
	strings_add(words, plan->result);
	json_object_each(plan->secret, name, value) {
		strings_add(words, "--secret");
		strings_add(words, name);
	}
}

/* Makes the arguments: a profiler's first, then the process's, with placeholders of the toolkit replaced. */
static void
make_arguments(struct step_process *process)
{
	struct strings *words = &process->words;
	struct toolchain *toolchain = process->step->job->exec->toolchain;
	const struct tool *tool = find_toolkit(process), *own = process->tool;
	const struct strings *argv = &process->plan->argv;
	bool profiled = is_profiled(process);
	if (profiled)
		add_profiler(process, words);
	if (process->step->tools.host)
		add_host(process->step->plan, words);
	for (size_t i = 0; i < argv->count; i++) {
		bool special = tool && toolkit_has_placeholder(argv->list[i]);
		const struct tool_facts *facts = special ? toolchain_facts(toolchain, tool) : NULL;
		/*
		 * An interpreter finds itself, and from there its libraries, by the name with which it was called; so does
		 * nvcc. A profiler starts the tool that was found here, whatever PATH leads to.
		 */
		if (i == 0 && own && (profiled || interpreter_is(own->path) || own->packages))
			strings_add(words, own->path);
		else if (facts && strcmp(argv->list[i], TOOLKIT_COMPILER) == 0)
			strings_add(words, tool->path);
		else if (facts)
			toolkit_expand(argv->list[i], facts, words);
		else
			strings_add(words, argv->list[i]);
	}
}

static int
find_tool(struct step *step, struct step_process *process)
{
	const char *name = process->plan->argv.list[0];
	if (strncmp(name, "./", 2) == 0)
		return 0;
	int rc = toolchain_find(step->job->exec->toolchain, name, &process->tool, &step->failure.error);
	if (rc == KETTLE_ENOENT)
		step->tools.missing = xstrdup(name);
	return rc;
}

/* Digests what the tool's results depend on. Fails if the tool cannot be used for a build. */
static int
fingerprint_tool(struct step *step, const struct tool *tool, struct sha256 *digest)
{
	struct toolchain *toolchain = step->job->exec->toolchain;
	char hex[DIGEST_HEX_SIZE];
	int rc = toolchain_fingerprint(toolchain, tool, hex, &step->failure.error);
	if (rc == 0 && step->plan->kind == STEP_BUILD && (rc = toolchain_check(toolchain, tool, &step->failure.error)) != 0)
		step->tools.missing = xstrdup(tool->name);
	if (rc == 0)
		sha256_field(digest, hex);
	return rc;
}

/* Digests the fingerprints of all tools that a step with `cache` names. */
static int
fingerprint(struct step *step)
{
	const struct plan_step *plan = step->plan;
	AUTO_DIGEST struct sha256 *digest = sha256_new();
	int rc = 0;
	if (step->processes[0].tool)
		rc = fingerprint_tool(step, step->processes[0].tool, digest);
	else
		sha256_field(digest, NULL);
	for (size_t i = 0; rc == 0 && i < plan->toolchain.count; i++) {
		const struct tool *tool = NULL;
		rc = toolchain_find(step->job->exec->toolchain, plan->toolchain.list[i], &tool, &step->failure.error);
		/* The tools that a prepare step starts are not known before it runs. */
		if (rc == KETTLE_ENOENT && plan->kind == STEP_PREPARE) {
			step->failure.error = (struct kettle_error){0};
			sha256_field(digest, NULL);
			rc = 0;
			continue;
		}
		if (rc == KETTLE_ENOENT)
			step->tools.missing = xstrdup(plan->toolchain.list[i]);
		else
			rc = fingerprint_tool(step, tool, digest);
	}
	if (rc == 0)
		sha256_end(digest, step->tools.fingerprint);
	return rc;
}

/* The same for a step with a JIT cache: its tool and the compilers that it names, as far as they exist. */
static void
fingerprint_jit(struct step *step)
{
	struct toolchain *toolchain = step->job->exec->toolchain;
	AUTO_DIGEST struct sha256 *digest = sha256_new();
	const struct tool *tool = STEP_SOLVER(step)->tool;
	bool known = tool && fingerprint_tool(step, tool, digest) == 0;
	for (size_t i = 0; known && i < step->plan->jit_tools.count; i++) {
		if (toolchain_find(toolchain, step->plan->jit_tools.list[i], &tool, NULL) != 0)
			sha256_field(digest, NULL);
		else
			known = fingerprint_tool(step, tool, digest) == 0;
	}
	if (known)
		sha256_end(digest, step->tools.fingerprint);
	step->failure.error = (struct kettle_error){0};
}

/* Lists the folders of its tools that the sandbox must show. */
static void
find_roots(struct step_process *process)
{
	const struct step *step = process->step;
	struct toolchain *toolchain = step->job->exec->toolchain;
	if (process->tool)
		toolchain_roots(toolchain, process->tool, &process->roots);
	if (step->tools.profiler && is_profiled(process))
		toolchain_roots(toolchain, step->tools.profiler, &process->roots);
	for (size_t i = 0; i < step->plan->toolchain.count; i++)
		if (step->tools.further[i])
			toolchain_roots(toolchain, step->tools.further[i], &process->roots);
}

/* The tool's facts for the outcome and for the job's end: a copy, since another thread may look at the tool again. */
static json_t *
tell_tool(const struct step *step)
{
	struct toolchain *toolchain = step->job->exec->toolchain;
	const struct tool *tool = STEP_SOLVER(step)->tool, *toolkit = find_toolkit(STEP_SOLVER(step));
	json_t *told = json_object();
	if (tool) {
		const struct tool_facts *facts = toolchain_describe(toolchain, tool);
		json_object_set_new(told, "version", json_string(facts->version));
		json_object_set_new(told, "packages", json_deep_copy(facts->packages));
	}
	const struct tool_facts *facts = toolkit && has_toolkit(toolkit) ? toolchain_facts(toolchain, toolkit) : NULL;
	if (facts && facts->parts)
		json_object_set_new(
			told, "toolkit", json_pack("{s:s, s:o}", "home", facts->home, "parts", json_deep_copy(facts->parts)));
	return told;
}

void
launch_find_tools(void *arg)
{
	struct step *step = arg;
	struct toolchain *toolchain = step->job->exec->toolchain;
	size_t count = step->plan->toolchain.count;
	int rc = 0;
	step->tools.further = xcalloc(count + 1, sizeof(*step->tools.further));
	toolchain_lock(toolchain);
	for (size_t i = 0; rc == 0 && i < step->count; i++)
		rc = find_tool(step, &step->processes[i]);
	for (size_t i = 0; rc == 0 && i < count; i++)
		(void)toolchain_find(toolchain, step->plan->toolchain.list[i], &step->tools.further[i], NULL);
	if (rc == 0 && step->plan->cache)
		rc = fingerprint(step);
	if (rc == 0 && step->plan->jit_folder && step->plan->owner && !step->job->jit.looked)
		fingerprint_jit(step);
	if (rc == 0 && step->plan->profile)
		rc = find_profiler(step);
	if (rc == 0 && step->plan->host)
		rc = find_beside(step, HOST, &step->tools.host);
	if (step->plan->share > 0)
		find_library(step);
	if (STEP_SOLVER(step)->tool)
		step->tools.told = tell_tool(step);
	for (size_t i = 0; rc == 0 && i < step->count; i++) {
		make_arguments(&step->processes[i]);
		find_roots(&step->processes[i]);
	}
	toolchain_unlock(toolchain);
	step->failure.error.code = rc;
}

/* ---- environment, view and descriptors of a process ---- */

static void
set_number(json_t *env, const char *name, uint64_t number)
{
	json_object_set_new(env, name, json_sprintf("%" PRIu64, number));
}

/*
 * The bytes of the processor's cache that the harness flushes. It writes to twice as much memory, which is at most half
 * of the run's.
 */
static uint64_t
cache_flushed(const struct step_process *process)
{
	uint64_t cache = process->step->job->exec->config.cpu_cache, fits = process->limits.memory / 4;
	return cache < fits ? cache : fits;
}

/* Without a sandbox: sets the folders that a sandbox has in its own /tmp. */
static void
set_folders(const struct step_process *process, json_t *env)
{
	AUTO_FREE char *home = path_join(process->temporary, STEP_HOME);
	AUTO_JSON json_t *own = json_pack("{s:s, s:s}", "HOME", home, "TMPDIR", process->temporary);
	json_object_update_missing(env, own);
}

/* The library's path as the processes see it. */
static const char *
library_path(const struct step *step)
{
	return step->job->line.unit.level == SANDBOX_LEVEL_OFF ? step->tools.library : LIBRARY_SHOWN;
}

/* The whole environment as an object. Later values replace earlier ones. New reference. */
static json_t *
make_environment(const struct step_process *process, bool first)
{
	const struct step *step = process->step;
	const struct plan_step *plan = step->plan;
	const struct exec_context *exec = step->job->exec;
	AUTO_STRINGS struct strings further = {0};
	for (size_t i = 0; i < plan->toolchain.count; i++) {
		const struct tool *tool = step->tools.further[i];
		if (tool)
			strings_add(&further, tool->path);
	}
	json_t *env = environment_make(&exec->config, process->tool ? process->tool->path : NULL, &further);
	gpu_nodes_environment(exec->gpus, &step->place.gpus, env);
	json_object_update(env, process->plan->environment);
	if (process->tool)
		environment_add_tool(&exec->config, process->tool->name, env);
	if (step->tools.host)
		environment_add_tool(&exec->config, HOST, env);
	if (first && plan->secret_fd)
		set_number(env, plan->secret_fd, STEP_FD_SECRET);
	else if (first)
		json_object_update(env, plan->secret);
	if (first && plan->result)
		set_number(env, plan->result, STEP_FD_RESULT);
	if (plan->kind == STEP_RUN)
		set_number(env, "KETTLE_CPU_CACHE", cache_flushed(process));
	if (step->count > 1)
		set_number(env, "KETTLE_PEER_FD", STEP_FD_PEER);
	if (step->count > 1 && plan->share > 0)
		set_number(env, "KETTLE_SHM_FD", STEP_FD_SHM);
	if (step->tools.library)
		json_object_set_new(env, "KETTLE_SHM_LIBRARY", json_string(library_path(step)));
	if (process->temporary)
		set_folders(process, env);
	return env;
}

/* Whether an input lies below out/, where the process may write, and is not part of its cache. */
static bool
fills_out(const struct step_process *process)
{
	const struct plan_process *plan = process->plan;
	for (size_t i = 0; i < plan->inputs_count; i++)
		if (strncmp(plan->inputs[i].path, "out/", 4) == 0 && !jit_is_input(process, plan->inputs[i].path))
			return true;
	return false;
}

/* Lists the folders that the process sees besides the system: exec.yml's `extra_paths`, the step's, those of its tools. */
static void
list_folders(const struct step_process *process, struct strings *seen)
{
	const struct step *step = process->step;
	const struct exec_context *exec = step->job->exec;
	strings_read(seen, exec->config.extra_paths);
	strings_add_all(seen, &step->plan->folders);
	gpu_nodes_folders(exec->gpus, &step->place.gpus, seen);
	strings_add_all(seen, &process->roots);
}

/*
 * The parts of the machine that the process sees besides the system: folders, kettle-profile or kettle-host, the
 * library, the device, shared results. Texts are borrowed from the lists.
 */
static struct sandbox_bind *
make_binds(const struct step_process *process, const struct strings *folders, const struct strings *nodes,
	const struct strings *shared, size_t *ret_count)
{
	size_t count = 0;
	struct sandbox_bind *binds =
		xcalloc(folders->count + nodes->count + shared->count + WARM_BINDS + 3, sizeof(*binds));
	for (size_t i = 0; i < folders->count; i++)
		binds[count++] = (struct sandbox_bind){.source = folders->list[i], .optional = true};
	if (is_profiled(process))
		binds[count++] = (struct sandbox_bind){.source = process->step->tools.helper->real, .target = PROFILER_SHOWN};
	if (process->step->tools.host)
		binds[count++] = (struct sandbox_bind){.source = process->step->tools.host->real, .target = HOST_SHOWN};
	if (process->step->tools.library)
		binds[count++] = (struct sandbox_bind){.source = process->step->tools.library, .target = LIBRARY_SHOWN};
	for (size_t i = 0; i < nodes->count; i++)
		binds[count++] = (struct sandbox_bind){.source = nodes->list[i], .optional = true, .device = true};
	for (size_t i = 0; i < shared->count; i += 2)
		binds[count++] = (struct sandbox_bind){.source = shared->list[i], .target = shared->list[i + 1]};
	count += warm_binds(process->warm.process, folders, &binds[count]);
	*ret_count = count;
	return binds;
}

static struct sandbox_limits
make_limits(const struct step_process *process, unsigned cores)
{
	const struct limits *limits = &process->limits;
	const struct execconfig *config = &process->step->job->exec->config;
	return (struct sandbox_limits){
		.cpu_ns = limits->cpu,
		.memory = limits->memory,
		.processes = limits->processes + (process->step->tools.host != NULL), /* its supervisor */
		.disk = limits->disk,
		.shm = limits->shm,
		.io_bytes = config->io_bytes,
		.io_operations = config->io_operations,
		.cores = cores,
	};
}

/* Lists the descriptors of a process, without the usual three and the result channel. Returns how many. */
static size_t
list_descriptors(const struct step *step, size_t index, const struct referee_link *link, struct sandbox_fd *fds)
{
	size_t count = 0;
	if (link->peer[index] >= 0)
		fds[count++] = (struct sandbox_fd){link->peer[index], STEP_FD_PEER};
	if (link->shm >= 0)
		fds[count++] = (struct sandbox_fd){link->shm, STEP_FD_SHM};
	if (index == 0 && step->channels.secret >= 0)
		fds[count++] = (struct sandbox_fd){step->channels.secret, STEP_FD_SECRET};
	return count;
}

/* Begins to record the reads of a step with `cache`. Returns the socket for that; -1: nothing is recorded. */
static int
begin_recording(struct step *step, const struct strings *folders)
{
	int socket = -1;
	assert(!step->cache.recorder);
	if (step->plan->cache && step->cache.cover == COVER_RECORD)
		step->cache.recorder =
			recorder_new(folders, step->job->dir, step->job->line.unit.level == SANDBOX_LEVEL_OFF, &socket);
	return socket;
}

/* Reports once that environment_make left a folder out of PATH. */
static void
tell_path(struct exec_context *exec, const char *program)
{
	AUTO_BUF struct buf clean = {0};
	if (exec->told_path || !program || utf8_valid(program, strlen(program)))
		return;
	exec->told_path = true;
	(void)utf8_sanitize(program, strlen(program), &clean);
	exec_context_emit(
		exec, json_pack("{s:s, s:o}", "event", "error", "error",
				  json_sprintf("The folder of `%s` is not UTF-8 text, so the PATH of steps lacks it.", clean.data)));
}

/* The executed file as the sandbox shows it; NULL: a file of the process's own folder, by argv[0]. */
static const char *
find_program(const struct step_process *process)
{
	const struct step *step = process->step;
	bool off = step->job->line.unit.level == SANDBOX_LEVEL_OFF;
	if (is_profiled(process))
		return off ? step->tools.helper->real : PROFILER_SHOWN;
	if (step->tools.host)
		return off ? step->tools.host->real : HOST_SHOWN;
	return process->tool ? process->tool->path : NULL;
}

/* The result channel of a process; NULL: it has none. The solver's own one is for its profiler alone. */
static struct result *
find_channel(struct step *step, size_t index)
{
	struct result *result = index == 0 ? &step->channels.result : &step->channels.profiled;
	return result->values ? result : NULL;
}

/*
 * A sandbox in which the step's GPUs are open already; NULL: there is none for such a run. It is the solver's, which
 * starts first: the referee joins its group.
 */
static struct sandbox *
find_prepared(struct step_process *process, struct sandbox_config *config)
{
	struct step *step = process->step;
	const struct strings none = {0};
	struct prepared_origin origin = {NULL, &none};
	struct sandbox *found = NULL;
	config->group = step->pair.group;
	if (step->opening.state != OPENED_REFUSED)
		origin = (struct prepared_origin){process->warm.process, &process->early};
	if (step->plan->device > 0 && process == STEP_SOLVER(step)) {
		found = prepared_take(step->job->exec->warm, &origin, &step->place.gpus, config, &step->pair.group);
		step->opening.uses_gpus = true;
	}
	if (found)
		step->opening.state = OPENED_TAKEN;
	config->group = step->pair.group;
	return found;
}

/* Starts one process. Everything that config points to is freed when this returns. */
static void
launch(struct step_process *process, size_t index, const struct referee_link *link, void (*ended)(void *arg),
	void (*on_lost)(void *arg))
{
	struct step *step = process->step;
	const struct exec_context *exec = step->job->exec;
	const char *program = find_program(process), *profiler = is_profiled(process) ? step->plan->profile : NULL;
	bool on_device = step->plan->kind == STEP_RUN || step->plan->device > 0;
	const struct cores *cores = on_device ? &step->place.cores : exec->build;
	struct sandbox_fd fds[4];
	int keep[JOB_MAX_DEVICES];
	size_t binds_count = 0;
	AUTO_STRINGS struct strings environment = {0}, nodes = {0}, folders = {0}, shared = {0};
	tell_path(step->job->exec, process->tool ? process->tool->path : NULL);
	AUTO_JSON json_t *variables = make_environment(process, index == 0);
	environment_list(variables, &environment);
	list_folders(process, &folders);
	shared_list(process, &shared);
	gpu_nodes_nodes(exec->gpus, &step->place.gpus, profiler, &nodes);
	size_t fds_count = list_descriptors(step, index, link, fds);
	AUTO_FD int record = begin_recording(step, &folders);
	if (record >= 0)
		fds[fds_count++] = (struct sandbox_fd){record, STEP_FD_RECORD};
	AUTO_FREE struct sandbox_bind *binds = make_binds(process, &folders, &nodes, &shared, &binds_count);
	struct process_config config = {
		.sandbox.level = step->job->line.unit.level,
		.sandbox.file = program ? program : process->words.list[0],
		.sandbox.argv = process->words.list,
		.sandbox.envp = environment.list,
		.sandbox.job_dir = process->dir,
		.sandbox.job_writable = step->plan->kind == STEP_PREPARE,
		.sandbox.out_filled = fills_out(process),
		.sandbox.counts = profiler && strcmp(profiler, "perf") == 0,
		.sandbox.binds = binds,
		.sandbox.binds_count = binds_count,
		.sandbox.fds = fds,
		.sandbox.fds_count = fds_count,
		.sandbox.record = record >= 0 ? STEP_FD_RECORD : 0,
		.sandbox.keep = keep,
		.sandbox.keep_count = device_lease_descriptors(step->job, keep),
		.sandbox.limits = make_limits(process, on_device ? 0 : (unsigned)cores->count),
		.sandbox.cores = cores->list,
		.sandbox.cores_count = cores->count,
		.sandbox.init_cores = exec->build->list,
		.sandbox.init_cores_count = exec->build->count,
		/* A build on the same core must not disturb a timed run, and a timed run must never be held up. */
		.sandbox.nice = on_device ? 0 : BUILD_NICE,
		.sandbox.machine = exec->machine,
		.sandbox.warm = warm_sandbox(process->warm.process),
		.wall_ns = process->limits.wall,
		.waits = !step->plan->optional,
		.output_limit = process->limits.output,
		.result = find_channel(step, index),
		.early = ending_is_allowed(step),
	};
	if (process == STEP_SOLVER(step))
		jit_describe(step, &config.sandbox.cache);
	config.prepared = find_prepared(process, &config.sandbox);
	process_start(&process->process, exec->loop, &config, ended, on_lost, process);
	warm_after_start(STEAL(process->warm.process));
}

static int
make_joint(const struct step *step, struct referee_link *link, struct kettle_error *err)
{
	if (step->count > 1 && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, link->peer) != 0)
		return kettle_fail(err, KETTLE_EIO, "Could not create a socket pair: %s.", strerror(errno));
	if (step->plan->share == 0)
		return 0;
	link->shm = memfd_create("kettle", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	/* Neither process may shrink the memory while the other maps it. */
	if (link->shm < 0 || ftruncate(link->shm, (off_t)step->plan->share) != 0 ||
		fcntl(link->shm, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
		return kettle_fail(err, KETTLE_EIO, "Could not create shared memory: %s.", strerror(errno));
	return 0;
}

int
launch_secret(struct step *step, struct kettle_error *err)
{
	AUTO_BUF struct buf lines = {0};
	int ends[2];
	assert(step->channels.secret < 0);
	if (!step->plan->secret_fd)
		return 0;
	json_object_each(step->plan->secret, name, value)
		buf_printf(&lines, "%s=%s\n", name, json_string_value(value));
	if (pipe2(ends, O_CLOEXEC) != 0)
		return kettle_fail(err, KETTLE_EIO, "Could not create a pipe: %s.", strerror(errno));
	step->channels.secret = ends[0];
	/* The check of a plan ensures that the secret fits into a pipe. */
	int rc = write_all(ends[1], lines.data, lines.len);
	close(ends[1]);
	return rc == 0 ? 0 : kettle_fail(err, KETTLE_EIO, "A secret could not be handed over: %s.", strerror(errno));
}

bool
launch_secret_unread(const struct step *step)
{
	int left = 0;
	return step->channels.secret >= 0 && ioctl(step->channels.secret, FIONREAD, &left) == 0 && left > 0;
}

/* Whether a variable differs from run to run while nothing reads it before the script. */
static bool
is_own_name(const char *name)
{
	return strncmp(name, "KETTLE_", strlen("KETTLE_")) == 0 || strncmp(name, "POPCORN_", strlen("POPCORN_")) == 0;
}

/* The variables that an interpreter and its libraries may read before the script begins. New reference. */
static json_t *
make_early_environment(const struct step_process *process)
{
	json_t *env = make_environment(process, false), *value;
	const char *name;
	void *next;
	json_object_foreach_safe(env, next, name, value) {
		if (is_own_name(name))
			json_object_del(env, name);
	}
	AUTO_JSON json_t *own = json_pack("{s:s, s:s}", "HOME", SANDBOX_HOME, "TMPDIR", "/tmp");
	json_object_update_missing(env, own);
	return env;
}

/* Whether a process only runs a script. (interpreter_copies decides whether the interpreter can be copied.) */
static bool
may_begin_warm(const struct step_process *process)
{
	const struct step *step = process->step;
	const char *script = process->plan->argv.count > 1 ? process->plan->argv.list[1] : NULL;
	bool wanted = step->job->exec->alone ? process->plan->warm_alone : process->plan->warm;
	bool suits = step->job->exec->warm && step->plan->kind == STEP_RUN && !is_profiled(process) && process->tool &&
				 wanted && step->job->line.unit.level != SANDBOX_LEVEL_OFF;
	for (size_t i = 0; suits && script && i < process->plan->inputs_count; i++)
		if (strcmp(process->plan->inputs[i].path, script) == 0)
			return true;
	return false;
}

/* As launch_request_warm, for one process. */
static bool
request_warm(struct step_process *process, void (*again)(void *arg))
{
	struct step *step = process->step;
	if (!may_begin_warm(process))
		return false;
	bool caches = process == STEP_SOLVER(step) && jit_is_used(step);
	const struct strings *recipes = step->job->exec->alone ? &process->plan->alone : &process->plan->recipes;
	AUTO_JSON json_t *env = make_early_environment(process);
	if (!interpreter_copies(process->tool->path, env))
		return false;
	const struct warm_key key = {
		.tool = process->tool,
		.modules = &process->plan->preload,
		.recipes = caches ? recipes : NULL,
		.environment = env,
		.cores = &step->place.cores,
	};
	process->warm.ended = again;
	process->warm.arg = step;
	return warm_request(step->job->exec->warm, &key, &process->warm);
}

/* Lists the environment in which a kettle-host may open the step's GPUs before the run is known. */
static void
list_early(struct step_process *process)
{
	const struct step *step = process->step;
	strings_free(&process->early);
	if (!step->tools.host || !step->job->exec->warm || step->job->line.unit.level == SANDBOX_LEVEL_OFF)
		return;
	AUTO_JSON json_t *env = make_early_environment(process);
	environment_list(env, &process->early);
}

/* Waits once for a process that is opening the step's GPUs for such a run. */
static bool
await_prepared(struct step *step, void (*again)(void *arg))
{
	struct step_opening *opening = &step->opening;
	if (step->plan->device == 0 || opening->state != OPENED_WANTED)
		return false;
	opening->wait.ended = again;
	opening->wait.arg = step;
	const struct prepared_origin origin = {STEP_SOLVER(step)->warm.process, &STEP_SOLVER(step)->early};
	const struct sandbox_limits limits = make_limits(STEP_SOLVER(step), 0);
	bool waits = prepared_await(step->job->exec->warm, &origin, &step->place.gpus, &limits,
		step->count > 1 ? step->pair.memory : 0, &opening->wait);
	for (size_t i = 0; waits && i < step->count; i++)
		warm_hold(&step->processes[i].warm);
	if (waits)
		opening->state = OPENED_AWAITED;
	return waits;
}

/*
 * A warm process can be used only in the turn of the loop in which it was found. So what one process of the step has
 * found is held, lest it make room for that of the other, and requested again after the other's wait. Where checks of the
 * disk take longer than WARM_LOOK_MS, each would be due again after that of the other: in the end the step starts with
 * what is ready.
 */
bool
launch_request_warm(struct step *step, void (*again)(void *arg))
{
	bool waits = false;
	const struct warm_waiter *only = &step->processes[0].warm;
	list_early(STEP_SOLVER(step));
	if (step->count == 1 && step->warm_requests > 0 && !only->again && !only->holds)
		return false;
	for (size_t i = step->count; i-- > 0;) {
		struct warm_waiter *warm = &step->processes[i].warm;
		warm_let_go(warm);
		if (!warm->of && !request_warm(&step->processes[i], again))
			warm_hold(warm);
		else if (!warm->holds && step->warm_requests >= STEP_WARM_REQUESTS)
			warm_cancel_request(warm);
		waits = waits || (warm->of && !warm->holds);
	}
	for (size_t i = 0; !waits && i < step->count; i++)
		warm_let_go(&step->processes[i].warm);
	return waits || await_prepared(step, again);
}

int
launch_step(struct step *step, void (*ended)(void *arg), void (*on_lost)(void *arg), struct kettle_error *err)
{
	struct referee_link link = {.peer = {-1, -1}, .shm = -1};
	int rc = make_joint(step, &link, err);
	if (rc == 0 && step->count > 1)
		rc = sandbox_group_new(step->job->exec->machine, step->pair.memory, &step->pair.group, err);
	/* The referee starts last, since it may write at once. */
	for (size_t i = step->count; rc == 0 && i-- > 0;)
		launch(&step->processes[i], i, &link, ended, on_lost);
	int fds[] = {link.peer[0], link.peer[1], link.shm};
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		if (fds[i] >= 0)
			close(fds[i]);
	return rc;
}
