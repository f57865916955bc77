/* SPDX-License-Identifier: MIT */
/* The output of Slurm's commands, read strictly, and their arguments, from the options of a unit. */
#include <config.h>

#include "runners/slurm/slurm_internal.h"

#include "base/base.h"
#include "base/number.h"
#include "runners/common/options.h"

#define SPARE_MB 512    /* of a job's memory, for kettle-exec and Slurm itself */
#define SPARE_MINUTES 3 /* of a job's time, for its start and for sending its result */
#define UNKNOWN_MINUTES 60
#define MAX_MINUTES 525600
#define FIELDS 5

/* ---- output ---- */

static bool
is_id(const char *text)
{
	size_t length = strspn(text, "0123456789");
	return length > 0 && length < SLURM_ID_SIZE && !text[length];
}

bool
squeue_row_is_whole(const char *text)
{
	size_t length = strlen(text), end = strlen(SQUEUE_END);
	return length >= end && strcmp(text + length - end, SQUEUE_END) == 0;
}

bool
squeue_row_parse(char *line, struct squeue_row *ret_row)
{
	char *fields[FIELDS];
	long long task = -1;
	if (!squeue_row_is_whole(line))
		return false;
	line[strlen(line) - strlen(SQUEUE_END)] = '\0';
	for (size_t i = 0; i < FIELDS; i++) {
		fields[i] = line;
		line = i + 1 < FIELDS ? strchr(line, '|') : line;
		if (!line)
			return false;
		if (i + 1 < FIELDS)
			*line++ = '\0';
	}
	bool is_task = strcmp(fields[1], "N/A") != 0;
	/* A part of an array that --array did not split ("[3-7]") is no task. */
	if (!is_id(fields[0]) || (is_task && (!is_id(fields[1]) || !number_parse_integer(fields[1], &task))) ||
		!*fields[2] || !*fields[4])
		return false;
	*ret_row = (struct squeue_row){fields[0], (long)task, fields[2], fields[3], fields[4]};
	return true;
}

enum slurm_standing
slurm_standing(const char *state)
{
	static const struct {
		const char *state;
		enum slurm_standing standing;
	} known[] = {
		{"PENDING", SLURM_PENDING},
		{"CONFIGURING", SLURM_PENDING}, /* its nodes start */
		{"REQUEUED", SLURM_PENDING},
		{"REQUEUE_HOLD", SLURM_PENDING},
		{"REQUEUE_FED", SLURM_PENDING},
		{"SPECIAL_EXIT", SLURM_PENDING},
		{"RESV_DEL_HOLD", SLURM_PENDING},
		{"NODE_FAIL", SLURM_TAKEN_AWAY},
		{"BOOT_FAIL", SLURM_TAKEN_AWAY},
		{"PREEMPTED", SLURM_TAKEN_AWAY},
		{"CANCELLED", SLURM_TAKEN_AWAY},
		{"REVOKED", SLURM_TAKEN_AWAY},
		{"COMPLETED", SLURM_FAILED},
		{"FAILED", SLURM_FAILED},
		{"TIMEOUT", SLURM_FAILED},
		{"DEADLINE", SLURM_FAILED},
		{"OUT_OF_MEMORY", SLURM_FAILED},
	};
	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (strcmp(state, known[i].state) == 0)
			return known[i].standing;
	return SLURM_RUNNING;
}

bool
sbatch_answer_parse(const char *line, char ret_id[SLURM_ID_SIZE])
{
	size_t length = strspn(line, "0123456789");
	if (length == 0 || length >= SLURM_ID_SIZE || (line[length] && line[length] != ';'))
		return false;
	memcpy(ret_id, line, length);
	ret_id[length] = '\0';
	return true;
}

bool
sbatch_is_refusal(const char *line, const char **ret_reason)
{
	static const char before[] = "Batch job submission failed: ";
	/* From slurm_errno: the request itself is at fault. Limits ("Job violates accounting/QOS policy") may pass. */
	static const char *const refusals[] = {"Invalid ", "Requested ", "Access/permission denied",
		"User's group not permitted", "Node count specification invalid", "More processors requested than permitted",
		"Memory required by task is not available", "Memory specification can not be satisfied",
		"CPU count specification invalid", "Time limit specification required", "Pathname of a file"};
	const char *reason = strstr(line, before);
	*ret_reason = reason ? reason + strlen(before) : line;
	/* sbatch itself refuses an unknown option before it asks the controller. */
	if (!reason)
		return strstr(line, "unrecognized option") || strstr(line, "invalid option") ||
			   strstr(line, "error: Invalid ") || strstr(line, "Unable to open file");
	for (size_t i = 0; i < ARRAY_SIZE(refusals); i++)
		if (strncmp(*ret_reason, refusals[i], strlen(refusals[i])) == 0)
			return true;
	return false;
}

/* ---- arguments ---- */

const struct kettle_option slurm_unit_options[SLURM_UNIT_OPTIONS] = {
	{.key = "partition",
		.type = KETTLE_OPTION_STRING,
		.help = "The partition that jobs wait in, or several with commas; default: the cluster's."},
	{.key = "gres", .type = KETTLE_OPTION_STRING, .help = "The generic resources of a job, as for sbatch: gpu:h100:1."},
	{.key = "constraint", .type = KETTLE_OPTION_STRING, .help = "The features that a node must have, as for sbatch."},
	{.key = "account", .type = KETTLE_OPTION_STRING, .help = "The account that jobs are charged to."},
	INT_OPTION("memory_mb", NULL, 64, 1 << 26,
		"Mebibytes of memory of a job; default: 1024 more than the unit's `memory`, or 8192."),
	INT_OPTION("time_min", NULL, 1, MAX_MINUTES,
		"Minutes after which Slurm ends a job; default: a little more than its plan may take."),
	INT_OPTION("cores", NULL, 1, 4096, "Cores of a job; default: 2."),
	{.key = "flags",
		.type = KETTLE_OPTION_STRINGS,
		.help = "Further options of sbatch, each as --NAME or --NAME=VALUE."},
	BUILD_OPTION,
};

int
slurm_unit_check(const json_t *unit, struct kettle_error *err)
{
	/* Flags that the runner sets itself, or that would make the job another one than it looks for. */
	static const char *const own[] = {"array", "chdir", "cluster-constraint", "clusters", "error", "export", "input",
		"help", "job-name", "no-requeue", "output", "parsable", "requeue", "test-only", "time", "usage", "version",
		"wait", "wrap"};
	const json_t *flags = json_object_get(json_object_get(unit, "options"), "flags");
	json_array_each(flags, flag) {
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
					strcmp(own[k], "time") == 0 ? "say `time_min`" : "the runner sets this option; remove it");
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
	const json_t *options = json_object_get(request->unit, "options"), *flags = json_object_get(options, "flags");
	json_int_t cores = member_int(options, "cores");
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
	json_array_each(flags, flag)
		arguments_add(arguments, "%s", json_string_value(flag));
}
