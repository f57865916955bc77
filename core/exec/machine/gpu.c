/* SPDX-License-Identifier: MIT */
/* What this machine's GPUs say of themselves, read by kettle-gpu, and what two readings tell. */
/*
 * Theory of operation. The makers' libraries are opened by a program of its own beside kettle-exec, which prints one
 * JSON object and ends: a driver that hangs hangs that program alone, and nothing of Kettle keeps a driver in use.
 * tool_query.c bounds its time and its output.
 */
#include <config.h>

#include "exec/machine/gpu.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/json_access.h"
#include "base/text.h"
#include "base/xalloc.h"
#include "exec/machine/tool_query.h"

#define HELPER "kettle-gpu"

/* Reasons that are no trouble: the GPU does what it was made for. */
static const char *const harmless[] = {"power-cap", "sync-boost"};

bool
gpu_expected(const struct execconfig *config)
{
	const char *nvml = getenv("KETTLE_NVML"), *smi = getenv("KETTLE_ROCM_SMI");
	return config->gpu_nvml || config->gpu_rocm_smi || (nvml && *nvml) || (smi && *smi) ||
		   access("/dev/nvidiactl", F_OK) == 0 || access("/dev/kfd", F_OK) == 0;
}

/* The helper's path; new string. */
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
			"The GPUs cannot be looked at: `%s` is missing or cannot be run; `gpu.helper` of exec.yml names another.",
			path);
	return kettle_fail(err, KETTLE_EUNAVAIL,
		"The GPUs cannot be looked at: `%s` gave no answer within %d s; the driver may hang.", path,
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

const json_t *
gpu_find(const json_t *reading, const char *gpu)
{
	const json_t *facts;
	char number[32];
	size_t i;
	json_array_foreach(json_object_get(reading, "gpus"), i, facts) {
		const char *uuid = member_string(facts, "uuid");
		(void)snprintf(number, sizeof(number), "%lld", (long long)member_int(facts, "index"));
		if (strcmp(gpu, number) == 0 || (uuid && strcasecmp(gpu, uuid) == 0))
			return facts;
	}
	return NULL;
}

int
gpu_missing(const json_t *reading, const char *gpu, struct kettle_error *err)
{
	const json_t *error = json_array_get(json_object_get(reading, "errors"), 0);
	const char *why = member_string(error, "error");
	if (why)
		return kettle_fail(err, KETTLE_EUNAVAIL, "GPU %s is not there: %s", gpu, why);
	return kettle_fail(err, KETTLE_EUNAVAIL, "GPU %s is not there; this machine's drivers know of %zu.", gpu,
		json_array_size(json_object_get(reading, "gpus")));
}

json_t *
gpu_state(const json_t *facts)
{
	return json_pack("{s:O*, s:O*, s:O*, s:O*}", "clocks", json_object_get(facts, "clocks"), "temperature",
		json_object_get(facts, "temperature"), "power_mw", json_object_get(facts, "power_mw"), "throttle",
		json_object_get(facts, "throttle"));
}

static bool
is_harmless(const char *reason)
{
	for (size_t i = 0; i < ARRAY_SIZE(harmless); i++)
		if (strcmp(reason, harmless[i]) == 0)
			return true;
	return false;
}

static void
add_once(json_t *reasons, const char *reason)
{
	if (!list_has_text(reasons, reason))
		json_array_append_new(reasons, json_string(reason));
}

static void
add_present(const json_t *facts, json_t *reasons)
{
	const json_t *one;
	size_t i;
	json_array_foreach(json_object_get(facts, "throttle"), i, one) {
		const char *reason = json_string_value(one);
		if (reason && !is_harmless(reason))
			add_once(reasons, reason);
	}
}

bool
gpu_is_throttled(const json_t *facts)
{
	AUTO_JSON json_t *reasons = json_array();
	add_present(facts, reasons);
	return json_array_size(reasons) > 0;
}

void
gpu_throttled(const json_t *before, const json_t *after, json_t *reasons)
{
	const json_t *then = json_object_get(before, "slowed_ns");
	const char *name;
	json_t *now;
	/* The state of a moment is gone with the load: what a reading after the run still shows, and what was counted. */
	add_present(after, reasons);
	json_object_foreach(json_object_get(after, "slowed_ns"), name, now) {
		const json_t *was = json_object_get(then, name);
		if (was && !is_harmless(name) && json_integer_value(now) - json_integer_value(was) > GPU_SLOWED_NS)
			add_once(reasons, name);
	}
}

uint64_t
gpu_used(const json_t *facts)
{
	json_int_t used = member_int(facts, "used");
	return used > 0 ? (uint64_t)used : 0;
}
