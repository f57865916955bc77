/* SPDX-License-Identifier: MIT */
/* The argument vectors of Slurm's commands, from the options of a unit. All [any]. */
#ifndef KETTLE_RUNNERS_SLURM_ARGUMENTS_H
#define KETTLE_RUNNERS_SLURM_ARGUMENTS_H

#include <jansson.h>
#include <kettle/error.h>
#include <kettle/option.h>
#include <stddef.h>
#include <stdint.h>

#include "runners/common/arguments.h"

#define SLURM_DEFAULT_MEMORY_MB 8192
#define SLURM_DEFAULT_CORES 2

/* The options of a unit. */
#define SLURM_UNIT_OPTIONS 8
extern const struct kettle_option slurm_unit_options[SLURM_UNIT_OPTIONS];

/* EINVAL: a flag in the unit's options is one that this runner sets itself, or is no long option. */
int slurm_unit_check(const json_t *unit, struct kettle_error *err);
/* The memory of a job in MiB: from the options, else from the unit's `memory`, else the default. */
long long slurm_unit_memory_mb(const json_t *unit);
/* The minutes of a job: from the options, else the time that its plan may take (deadline_ms, 0: unknown). */
long long slurm_unit_minutes(const json_t *unit, uint64_t deadline_ms);
/*
 * The unit for kettle-exec on a node: without its slots, since the job has Slurm's allocation for itself, and with the
 * job's memory. New reference.
 */
json_t *slurm_unit_on_node(const json_t *unit);

/* One call of sbatch. */
struct sbatch_request {
	const char *sbatch; /* the command */
	const json_t *unit;
	const char *name;   /* of the job or array */
	const char *output; /* receives the script's output */
	size_t tasks;       /* of an array; 0: a single job */
	long long minutes;
};

/* Appends sbatch and its options; the script and its arguments follow. */
void sbatch_arguments(const struct sbatch_request *request, struct arguments *arguments);

#endif
