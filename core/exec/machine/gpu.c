/* SPDX-License-Identifier: MIT */
/* This machine's GPUs, as kettle-gpu reports them, and what slowed them between two readings. */
/*
 * Theory of operation. A separate program beside kettle-exec opens the vendors' libraries, prints one JSON object and
 * ends: a driver that hangs hangs only that program, and no part of Kettle keeps a driver in use. tool_query.c limits
 * its time and its output.
 */
#include <config.h>

#include "exec/machine/machine.h"

#include <unistd.h>

#include "base/base.h"
#include "base/file.h"
#include "base/gpu_fitness.h"
#include "base/text.h"

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

/* Says how kettle-gpu ended without a reading, and the last line of what it said. */
static int
explain_end(struct command *command, struct kettle_error *err)
{
	const char *path = command->argv[0], *colon = command->last_line[0] ? ": " : ".", *line = command->last_line;
	switch (command->end) {
	case COMMAND_NOT_STARTED:
		return kettle_fail(err, KETTLE_EUNAVAIL,
			"Could not query the GPUs: `%s` could not be started (%s); set another program with `gpu.helper` in "
			"exec.yml.",
			path, strerror(command->code));
	case COMMAND_KILLED:
		return kettle_fail(err, KETTLE_EUNAVAIL,
			"Could not query the GPUs: `%s` did not respond within %d s; the driver may hang%s%s", path,
			COMMAND_TIMEOUT_MS / 1000, colon, line);
	case COMMAND_SIGNALED:
		return kettle_fail(err, KETTLE_EUNAVAIL, "Could not query the GPUs: `%s` was ended by signal %d (%s)%s%s", path,
			command->code, strsignal(command->code), colon, line);
	case COMMAND_EXITED:
		break;
	}
	return kettle_fail(err, KETTLE_EUNAVAIL,
		"Could not query the GPUs: `%s` ended with status %d and printed no reading%s%s", path, command->code, colon,
		line);
}

static int
read_output(struct command *command, json_t **ret_reading, struct kettle_error *err)
{
	json_t *reading = command->output.len ? json_loadb(command->output.data, command->output.len, 0, NULL) : NULL;
	if (json_is_array(json_object_get(reading, "gpus")) && json_is_array(json_object_get(reading, "errors"))) {
		*ret_reading = reading;
		return 0;
	}
	json_decref(reading);
	return explain_end(command, err);
}

int
gpu_read(const struct execconfig *config, json_t **ret_reading, struct kettle_error *err)
{
	AUTO_FREE char *path = helper_path(config);
	AUTO_FREE char *nvml = config->gpu_nvml ? xasprintf("--nvml=%s", config->gpu_nvml) : NULL;
	AUTO_FREE char *smi = config->gpu_rocm_smi ? xasprintf("--rocm-smi=%s", config->gpu_rocm_smi) : NULL;
	struct command command = {.argv = {path, nvml ? nvml : smi, nvml ? smi : NULL}, .explained = true};
	tool_query_run(&command, 1, NULL);
	int rc = read_output(&command, ret_reading, err);
	buf_free(&command.output);
	return rc;
}

json_t *
gpu_read_or_explain(const struct execconfig *config)
{
	struct kettle_error why = {0};
	json_t *reading = NULL;
	if (gpu_read(config, &reading, &why) != 0)
		reading = json_pack("{s:[], s:[{s:s}]}", "gpus", "errors", "error", why.message);
	return reading;
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

static void
add_once(json_t *list, const char *word)
{
	if (!list_has_text(list, word))
		json_array_append_new(list, json_string(word));
}

/* Adds a reason once, unless it belongs to normal operation. */
static void
add_reason(json_t *reasons, const char *reason)
{
	if (strcmp(reason, gpu_word(GPU_WORD_POWER_CAP)) != 0 && strcmp(reason, gpu_word(GPU_WORD_SYNC_BOOST)) != 0)
		add_once(reasons, reason);
}

/* Whether a cause slowed the GPU between two readings for more than GPU_SLOWED_NS, by its counter. */
static bool
was_slowed(const struct gpu *before, const struct gpu *after, const char *cause)
{
	const json_t *was = json_object_get(before->slowed_ns, cause), *now = json_object_get(after->slowed_ns, cause);
	return was && now && json_integer_value(now) - json_integer_value(was) > GPU_SLOWED_NS;
}

void
gpu_throttled(const struct gpu *before, const struct gpu *after, json_t *reasons)
{
	/* The present state ends with the load, so the counted reasons are added to those in the reading after it. */
	json_array_each(after->throttle, reason)
		if (json_is_string(reason))
			add_reason(reasons, json_string_value(reason));
	json_object_each(after->slowed_ns, name, now)
		if (now && was_slowed(before, after, name))
			add_reason(reasons, name);
}

void
gpu_unfit(const struct gpu *gpu, bool idle, json_t *causes)
{
	/* The processes of all parts of a GPU that MIG divides are those of the whole one. */
	bool whole = !member_true(gpu->json, "mig");
	gpu_words_add_causes(causes, gpu->throttle);
	if (member_int(gpu->json, "ecc_uncorrected") > 0)
		add_once(causes, gpu_word(GPU_WORD_ECC));
	if (idle && whole && json_array_size(gpu->processes) > 0)
		add_once(causes, gpu_word(GPU_WORD_PROCESSES));
}

void
gpu_remarks(const struct gpu *before, const struct gpu *after, json_t *remarks)
{
	const json_t *was = before->json, *now = after->json;
	const char *cap = gpu_word(GPU_WORD_POWER_CAP), *boost = gpu_word(GPU_WORD_SYNC_BOOST);
	json_int_t limit = number_of(now, "power_limit_mw"), corrected = number_of(was, "ecc_corrected");
	const bool found[] = {
		[GPU_WORD_CLOCKS_UNLOCKED] =
			json_is_false(json_object_get(now, "clocks_locked")) && !member_true(was, "clocks_locked"),
		[GPU_WORD_POWER_CAP] = list_has_text(after->throttle, cap) || was_slowed(before, after, cap),
		[GPU_WORD_POWER_LIMIT] = limit >= 0 && limit < number_of(now, "power_default_mw"),
		[GPU_WORD_SYNC_BOOST] = list_has_text(after->throttle, boost),
		[GPU_WORD_ECC_CORRECTED] = corrected >= 0 && number_of(now, "ecc_corrected") > corrected,
		[GPU_WORD_ECC_OFF] = json_is_false(json_object_get(now, "ecc")),
		[GPU_WORD_MIG] = member_true(now, "mig"),
		[GPU_WORD_PERSISTENCE_OFF] = json_is_false(json_object_get(now, "persistence")),
	};
	for (size_t i = 0; i < ARRAY_SIZE(found); i++)
		if (found[i])
			add_once(remarks, gpu_word((enum gpu_word)i));
}

void
gpu_fitness_add(json_t *json, bool idle)
{
	json_t *causes = json_array(), *remarks = json_array();
	struct gpu gpu = gpu_of(json);
	gpu_unfit(&gpu, idle, causes);
	gpu_remarks(&gpu, &gpu, remarks);
	json_object_set_new(json, "unfit", causes);
	json_object_set_new(json, "remarks", remarks);
}

/* The index of a process in a list; -1: it is not there. */
static ssize_t
find_process(const json_t *processes, json_int_t pid)
{
	json_array_each_at(processes, i, process)
		if (member_int(process, "pid") == pid)
			return (ssize_t)i;
	return -1;
}

void
gpu_take_prepared(json_t *json, const json_t *pids, uint64_t most)
{
	json_t *processes = json_object_get(json, "processes");
	size_t unlisted = 0;
	uint64_t bytes = 0;
	json_array_each(pids, pid) {
		ssize_t at = find_process(processes, json_integer_value(pid));
		json_int_t memory = at < 0 ? 0 : member_int(json_array_get(processes, (size_t)at), "memory");
		bool counts = at >= 0 || json_integer_value(pid) <= 0;
		bytes += memory > 0 ? (uint64_t)memory : counts ? most : 0;
		unlisted += json_integer_value(pid) == 0;
		if (at >= 0)
			(void)json_array_remove(processes, (size_t)at);
	}
	/* In a container the driver lists them under numbers of the machine. */
	for (; unlisted > 0 && json_array_size(processes) > 0; unlisted--)
		(void)json_array_remove(processes, 0);
	if (bytes > 0)
		json_object_set_new(json, "prepared", json_integer((json_int_t)bytes));
}

bool
gpu_is_occupied(const struct gpu *gpu, const json_t *idle, uint64_t left)
{
	uint64_t prepared = (uint64_t)member_int(gpu->json, "prepared");
	return idle && gpu->used > 0 && (uint64_t)gpu->used > (uint64_t)json_integer_value(idle) + left + prepared;
}
