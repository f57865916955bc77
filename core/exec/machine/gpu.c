/* SPDX-License-Identifier: MIT */
/* This machine's GPUs, as kettle-gpu reports them, and what slowed them between two readings. */
/*
 * Theory of operation. A separate program beside kettle-exec opens the vendors' libraries, prints one JSON object and
 * ends: a driver that hangs hangs only that program, and no part of Kettle keeps a driver in use. tool_query.c limits
 * its time and its output.
 */
#include <config.h>

#include "exec/machine/machine.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/json_access.h"
#include "base/text.h"
#include "base/xalloc.h"

#define HELPER "kettle-gpu"

bool
gpu_expected(const struct execconfig *config)
{
	const char *nvml = getenv("KETTLE_NVML"), *smi = getenv("KETTLE_ROCM_SMI");
	return config->gpu_nvml || config->gpu_rocm_smi || (nvml && *nvml) || (smi && *smi) ||
		   access("/dev/nvidiactl", F_OK) == 0 || access("/dev/kfd", F_OK) == 0;
}

/* The path of the helper program. New string. */
static char *
helper_path(const struct execconfig *config)
{
	if (config->gpu_helper)
		return xstrdup(config->gpu_helper);
	AUTO_FREE char *dir = path_program_dir();
	return path_join(dir ? dir : "/usr/bin", HELPER);
}

static int
read_output(struct command *command, const char *path, json_t **ret_reading, struct kettle_error *err)
{
	json_t *reading = command->output.len ? json_loadb(command->output.data, command->output.len, 0, NULL) : NULL;
	if (json_is_array(json_object_get(reading, "gpus")) && json_is_array(json_object_get(reading, "errors"))) {
		*ret_reading = reading;
		return 0;
	}
	json_decref(reading);
	if (access(path, X_OK) != 0)
		return kettle_fail(err, KETTLE_EUNAVAIL,
			"Could not query the GPUs: `%s` is missing or cannot be run; set another program with `gpu.helper` in "
			"exec.yml.",
			path);
	return kettle_fail(err, KETTLE_EUNAVAIL,
		"Could not query the GPUs: `%s` did not respond within %d s; the driver may hang.", path,
		COMMAND_TIMEOUT_MS / 1000);
}

int
gpu_read(const struct execconfig *config, json_t **ret_reading, struct kettle_error *err)
{
	AUTO_FREE char *path = helper_path(config);
	AUTO_FREE char *nvml = config->gpu_nvml ? xasprintf("--nvml=%s", config->gpu_nvml) : NULL;
	AUTO_FREE char *smi = config->gpu_rocm_smi ? xasprintf("--rocm-smi=%s", config->gpu_rocm_smi) : NULL;
	struct command command = {.argv = {path, nvml ? nvml : smi, nvml ? smi : NULL}};
	tool_query_run(&command, 1, NULL);
	int rc = read_output(&command, path, ret_reading, err);
	buf_free(&command.output);
	return rc;
}

static json_int_t
number_of(const json_t *json, const char *key)
{
	const json_t *number = json_object_get(json, key);
	return json_is_integer(number) ? json_integer_value(number) : -1;
}

struct gpu
gpu_of(const json_t *json)
{
	return (struct gpu){.json = json,
		.vendor = json_text_or_null(json, "vendor"),
		.uuid = json_text_or_null(json, "uuid"),
		.name = json_text_or_null(json, "name"),
		.driver = json_text_or_null(json, "driver"),
		.cuda = json_text_or_null(json, "cuda"),
		.index = number_of(json, "index"),
		.minor = number_of(json, "minor"),
		.render = number_of(json, "render"),
		.used = number_of(json, "used"),
		.clocks = json_object_get(json, "clocks"),
		.temperature = json_object_get(json, "temperature"),
		.power_mw = json_object_get(json, "power_mw"),
		.throttle = json_object_get(json, "throttle"),
		.slowed_ns = json_object_get(json, "slowed_ns"),
		.processes = json_object_get(json, "processes")};
}

struct gpu
gpu_find(const json_t *reading, const char *name)
{
	char number[32];
	json_array_each(json_object_get(reading, "gpus"), json) {
		struct gpu gpu = gpu_of(json);
		(void)snprintf(number, sizeof(number), "%lld", (long long)gpu.index);
		if (strcmp(name, number) == 0 || (gpu.uuid && strcasecmp(name, gpu.uuid) == 0))
			return gpu;
	}
	return gpu_of(NULL);
}

int
gpu_missing(const json_t *reading, const char *gpu, struct kettle_error *err)
{
	const json_t *error = json_array_get(json_object_get(reading, "errors"), 0);
	const char *why = json_text_or_null(error, "error");
	if (why)
		return kettle_fail(err, KETTLE_EUNAVAIL, "GPU %s was not found: %s", gpu, why);
	return kettle_fail(err, KETTLE_EUNAVAIL, "GPU %s was not found; this machine's drivers report %zu.", gpu,
		json_array_size(json_object_get(reading, "gpus")));
}

json_t *
gpu_state(const struct gpu *gpu)
{
	return json_pack("{s:O*, s:O*, s:O*, s:O*}", "clocks", gpu->clocks, "temperature", gpu->temperature, "power_mw",
		gpu->power_mw, "throttle", gpu->throttle);
}

/* Adds a reason once, unless it belongs to normal operation. */
static void
add_reason(json_t *reasons, const char *reason)
{
	if (strcmp(reason, "power-cap") != 0 && strcmp(reason, "sync-boost") != 0 && !list_has_text(reasons, reason))
		json_array_append_new(reasons, json_string(reason));
}

void
gpu_throttled(const struct gpu *before, const struct gpu *after, json_t *reasons)
{
	/* The present state ends with the load, so the counted reasons are added to those in the reading after it. */
	json_array_each(after->throttle, reason)
		if (json_is_string(reason))
			add_reason(reasons, json_string_value(reason));
	json_object_each(after->slowed_ns, name, now) {
		const json_t *was = json_object_get(before->slowed_ns, name);
		if (was && json_integer_value(now) - json_integer_value(was) > GPU_SLOWED_NS)
			add_reason(reasons, name);
	}
}

bool
gpu_is_occupied(const struct gpu *gpu, const json_t *idle, uint64_t left)
{
	return idle && gpu->used > 0 && (uint64_t)gpu->used > (uint64_t)json_integer_value(idle) + left;
}
