/* SPDX-License-Identifier: MIT */
/* The argument vectors of Slurm's commands, from the options of a unit. */
#include <config.h>

#include "runners/slurm/slurm_arguments.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json_access.h"
#include "base/xalloc.h"

#define SPARE_MB 512    /* of a job's memory, for kettle-exec and Slurm itself */
#define SPARE_MINUTES 3 /* of a job's time, for its start and for sending its result */
#define UNKNOWN_MINUTES 60
#define MAX_MINUTES 525600

const struct kettle_option slurm_unit_options[SLURM_UNIT_OPTIONS] = {
	{.key = "partition",
		.type = KETTLE_OPTION_STRING,
		.help = "The partition that jobs wait in, or several with commas; default: the cluster's."},
	{.key = "gres", .type = KETTLE_OPTION_STRING, .help = "The generic resources of a job, as for sbatch: gpu:h100:1."},
	{.key = "constraint", .type = KETTLE_OPTION_STRING, .help = "The features that a node must have, as for sbatch."},
	{.key = "account", .type = KETTLE_OPTION_STRING, .help = "The account that jobs are charged to."},
	{.key = "memory_mb",
		.type = KETTLE_OPTION_INT,
		.min = 64,
		.max = 1 << 26,
		.help = "Mebibytes of memory of a job; default: 1024 more than the unit's `memory`, or 8192."},
	{.key = "time_min",
		.type = KETTLE_OPTION_INT,
		.min = 1,
		.max = MAX_MINUTES,
		.help = "Minutes after which Slurm ends a job; default: a little more than its plan may take."},
	{.key = "cores", .type = KETTLE_OPTION_INT, .min = 1, .max = 4096, .help = "Cores of a job; default: 2."},
	{.key = "flags",
		.type = KETTLE_OPTION_STRINGS,
		.help = "Further options of sbatch, each as --NAME or --NAME=VALUE."},
};

int
slurm_unit_check(const json_t *unit, struct kettle_error *err)
{
	/* Flags that the runner sets itself, or that would make the job another one than it looks for. */
	static const char *const own[] = {"array", "chdir", "cluster-constraint", "clusters", "error", "export", "input",
		"help", "job-name", "no-requeue", "output", "parsable", "requeue", "test-only", "time", "usage", "version",
		"wait", "wrap"};
	const json_t *flags = json_object_get(json_object_get(unit, "options"), "flags");
	size_t i;
	const json_t *flag;
	json_array_foreach(flags, i, flag) {
		const char *text = json_string_value(flag);
		size_t length = strncmp(text, "--", 2) == 0 ? strcspn(text + 2, "=") : 0;
		if (length == 0)
			return kettle_fail(
				err, KETTLE_EINVAL, "`flags` has `%s`, which is no option of the form --NAME or --NAME=VALUE.", text);
		for (size_t k = 0; k < ARRAY_SIZE(own); k++)
			/* sbatch also accepts the beginning of a name. */
			if (length <= strlen(own[k]) && strncmp(text + 2, own[k], length) == 0 &&
				(length == strlen(own[k]) || length >= 3))
				return kettle_fail(err, KETTLE_EINVAL, "`flags` has `%s`, but --%s is not for units: %s.", text, own[k],
					strcmp(own[k], "time") == 0 ? "say `time_min`" : "the runner needs it otherwise; remove it");
	}
	return 0;
}

long long
slurm_unit_memory_mb(const json_t *unit)
{
	json_int_t said = member_int(json_object_get(unit, "options"), "memory_mb"), memory = member_int(unit, "memory");
	if (said > 0)
		return said;
	return memory > 0 ? (memory >> 20) + 1024 : SLURM_DEFAULT_MEMORY_MB;
}

long long
slurm_unit_minutes(const json_t *unit, uint64_t deadline_ms)
{
	json_int_t said = member_int(json_object_get(unit, "options"), "time_min");
	if (said > 0)
		return said;
	if (deadline_ms == 0)
		return UNKNOWN_MINUTES;
	uint64_t minutes = (deadline_ms + 59999) / 60000 + SPARE_MINUTES;
	return minutes > MAX_MINUTES ? MAX_MINUTES : (long long)minutes;
}

json_t *
slurm_unit_on_node(const json_t *unit)
{
	json_t *copy = json_deep_copy(unit);
	long long memory_mb = slurm_unit_memory_mb(unit);
	(void)json_object_del(copy, "slots");
	(void)json_object_del(copy, "prefetch");
	(void)json_object_del(copy, "runner_slots");
	memory_mb -= memory_mb > 2 * SPARE_MB ? SPARE_MB : memory_mb / 2;
	if (!json_object_get(copy, "memory"))
		(void)json_object_set_new(copy, "memory", json_integer((json_int_t)memory_mb << 20));
	return copy;
}

static void
add_option(struct arguments *arguments, const char *name, const json_t *options)
{
	const char *value = json_text_or_null(options, name);
	if (value)
		arguments_add(arguments, "--%s=%s", name, value);
}

void
sbatch_arguments(const struct sbatch_request *request, struct arguments *arguments)
{
	const json_t *options = json_object_get(request->unit, "options"), *flags = json_object_get(options, "flags"),
				 *flag;
	json_int_t cores = member_int(options, "cores");
	size_t i;
	arguments_add(arguments, "%s", request->sbatch);
	arguments_add(arguments, "--parsable");
	arguments_add(arguments, "--job-name=%s", request->name);
	/* Only the engine decides on further attempts: a job that Slurm started again would refuse to run. */
	arguments_add(arguments, "--no-requeue");
	arguments_add(arguments, "--nodes=1");
	arguments_add(arguments, "--ntasks=1");
	arguments_add(arguments, "--cpus-per-task=%lld", cores > 0 ? (long long)cores : SLURM_DEFAULT_CORES);
	arguments_add(arguments, "--mem=%lldM", slurm_unit_memory_mb(request->unit));
	arguments_add(arguments, "--time=%lld", request->minutes);
	arguments_add(arguments, "--output=%s", request->output);
	if (request->tasks > 0)
		arguments_add(arguments, "--array=0-%zu", request->tasks - 1);
	add_option(arguments, "partition", options);
	add_option(arguments, "gres", options);
	add_option(arguments, "constraint", options);
	add_option(arguments, "account", options);
	json_array_foreach(flags, i, flag)
		arguments_add(arguments, "%s", json_string_value(flag));
}
