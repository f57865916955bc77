/* SPDX-License-Identifier: MIT */
/* The state that all jobs of one kettle-exec share: the machine, its folders, its tools, locks and queues. */
#include <config.h>

#include "exec/context/exec_context.h"

#include <dirent.h>

#include "base/base.h"
#include "base/failpoint.h"
#include "base/file.h"
#include "exec/machine/machine.h"
#include "exec/plan/plan.h"
#include "exec/warm/prepared.h"
#include "sandbox/record.h"

static int
open_folders(struct exec_context *exec, struct kettle_error *err)
{
	const struct execconfig *config = &exec->config;
	AUTO_FREE char *memory = path_join(config->state, EXEC_TOOLS_FILE), *shared = path_join(config->state, "shared");
	exec->blobs = path_join(config->state, "blobs");
	struct kettle_error why = {0};
	int rc = file_mkdirs(config->state, 0700, &why);
	if (rc != 0)
		rc = kettle_fail(err, rc,
			"The folder for builds and runs cannot be created: %s Set HOME, or `state` in exec.yml.", why.message);
	if (rc == 0)
		rc = cache_open(&exec->cache, config->state, config->cache_max_bytes, config->cache_max_user_bytes,
			config->cache_max_age_days, err);
	if (rc == 0)
		rc = cache_open(&exec->shared, shared, config->cache_shared_bytes, 0, config->cache_max_age_days, err);
	exec->shared.large = true;
	exec->tried = json_object();
	if (rc == 0)
		rc = spool_open(&exec->spool, config->state, err);
	if (rc == 0)
		exec->toolchain = toolchain_new(config, memory);
	return rc;
}

void
exec_context_take_gpus(struct exec_context *exec, json_t *reading_take, bool used)
{
	exec->gpus_used = used;
	json_decref(exec->gpus);
	exec->gpus = reading_take;
}

/*
 * Reads the GPUs. A driver that does not answer does not prevent the start: the greeting and each job that needs it
 * report it.
 */
static void
open_gpus(struct exec_context *exec)
{
	if (!gpu_expected(&exec->config))
		return;
	exec_context_take_gpus(exec, gpu_read_or_explain(&exec->config), false);
	json_array_each(json_object_get(exec->gpus, "gpus"), one) {
		struct gpu gpu = gpu_of(one);
		if (gpu.uuid && gpu.used >= 0)
			json_object_set_new(exec->idle, gpu.uuid, json_integer(gpu.used));
	}
}

bool
exec_context_is_idle(const struct exec_context *exec)
{
	return exec->locks.held == 0 && !exec->locks.kept && !devlock_others_hold(&exec->locks);
}

/*
 * The GPUs for the greeting, with whether more of their memory is in use than when they are idle, and whether they are
 * fit to score.
 */
static json_t *
greet_gpus(const struct exec_context *exec)
{
	json_t *list = json_deep_copy(json_object_get(exec->gpus, "gpus"));
	AUTO_JSON json_t *prepared = prepared_all(exec->warm);
	json_object_each(prepared, name, pids) {
		const struct gpu named = gpu_find(exec->gpus, name);
		json_array_each(list, one)
			if (named.json && json_equal(one, (json_t *)named.json))
				gpu_take_prepared(one, pids, exec->config.gpu_prepared_bytes);
	}
	bool idle = list && !exec->gpus_used && exec_context_is_idle(exec);
	json_array_each(list, one) {
		struct gpu gpu = gpu_of(one);
		const json_t *used = json_object_get(exec->idle, gpu.uuid ? gpu.uuid : "");
		json_object_set_new(
			one, "occupied", json_boolean(gpu_is_occupied(&gpu, used, exec->config.gpu_max_residual_bytes)));
		gpu_fitness_add(one, idle);
	}
	return list;
}

static int
open_machine(struct exec_context *exec, struct kettle_error *err)
{
	exec->cgroup = sandbox_cgroup_root(NULL);
	int rc = sandbox_machine_new(exec->cgroup, &exec->machine, err);
	if (rc != 0)
		return rc;
	exec->protections = sandbox_machine_protections(exec->machine);
	exec->facts = machine_describe();
	machine_cpu_digest(exec->cpu_digest);
	exec->unrecorded = !sandbox_record_works();
	exec->idle = json_object();
	open_gpus(exec);
	exec->build = exec->config.build_cores.count > 0 ? &exec->config.build_cores : &exec->spare;
	rc = cores_allowed(&exec->all, err);
	cores_join(&exec->spare, &exec->all);
	return rc;
}

int
exec_context_open(struct exec_context *exec, uv_loop_t *loop, struct json_writer *out,
	const struct exec_options *options, struct kettle_error *err)
{
	*exec = (struct exec_context){.loop = loop, .out = out, .spool.lock = -1, .plan_schema = plan_schema()};
	int rc = execconfig_load(&exec->config, options->config, options->settings, options->state, options->level, err);
	if (rc == 0)
		rc = open_folders(exec, err);
	if (rc == 0)
		rc = open_machine(exec, err);
	if (rc == 0)
		rc = devlock_open(&exec->locks, loop, exec->config.locks, err);
	exec->builds.max = exec->config.build_jobs;
	return rc;
}

void
exec_context_close(struct exec_context *exec)
{
	devlock_close(&exec->locks);
	warm_free(exec->warm);
	sandbox_machine_free(exec->machine);
	sandbox_cgroup_leave(exec->cgroup);
	spool_close(&exec->spool);
	cache_close(&exec->cache);
	cache_close(&exec->shared);
	json_decref(exec->tried);
	toolchain_free(exec->toolchain);
	json_decref_all(exec->plan_schema, exec->facts, exec->gpus, exec->idle);
	tool_report_free(&exec->tools);
	cores_free(&exec->all);
	cores_free(&exec->device);
	cores_free(&exec->spare);
	free(exec->blobs);
	execconfig_close(&exec->config);
}

void
exec_context_emit(struct exec_context *exec, json_t *event_take)
{
	json_writer_json(exec->out, event_take);
}

json_t *
exec_context_hello(struct exec_context *exec)
{
	failpoint("exec.hello");
	enum sandbox_level level = sandbox_level_of(exec->protections);
	return json_pack("{s:s, s:i, s:s, s:o, s:s, s:O, s:O*, s:O*, s:O*, s:o*, s:O*, s:o}", "event", "hello", "protocol",
		EXEC_PROTOCOL, "version", PACKAGE_VERSION, "protections", sandbox_describe(exec->protections), "level",
		sandbox_level_name(level), "machine", exec->facts, "tools", exec->tools.versions, "packages",
		exec->tools.packages, "parts", exec->tools.parts, "gpus", greet_gpus(exec), "gpu_errors",
		json_object_get(exec->gpus, "errors"), "warm", warm_describe(exec->warm));
}

/* Moves every thread, since work may be under way. */
static void
move_threads(const struct cores *cores)
{
	cpu_set_t set;
	cores_set(cores, &set);
	AUTO_DIR DIR *tasks = opendir("/proc/self/task");
	const struct dirent *entry;
	while (tasks && (entry = readdir(tasks)))
		if (entry->d_name[0] != '.')
			(void)sched_setaffinity((pid_t)atoi(entry->d_name), sizeof(set), &set);
}

void
exec_context_avoid_cores(struct exec_context *exec, const struct cores *cores)
{
	size_t before = exec->device.count;
	cores_join(&exec->device, cores);
	cores_free(&exec->spare);
	exec->spare = cores_without(&exec->all, &exec->device);
	if (exec->device.count != before)
		move_threads(&exec->spare);
}

bool
exec_context_is_busy(const struct exec_context *exec)
{
	return exec->jobs || exec->endings;
}

bool
exec_is_usage(int code)
{
	return code == KETTLE_EINVAL || code == KETTLE_ENOENT || code == KETTLE_ETOOBIG;
}
