/* SPDX-License-Identifier: MIT */
/* The argument vectors of Slurm's commands, from what a unit says. All [any]. */
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

/* EINVAL: a flag of the unit's options is one that this runner must set itself, or no long option at all. */
int slurm_unit_check(const json_t *unit, struct kettle_error *err);
/* The memory of a job in MiB: what the options say, else what the unit's `memory` needs, else the default. */
long long slurm_unit_memory_mb(const json_t *unit);
/* The minutes of a job: what the options say, else the time that its plan may take (deadline_ms, 0: unknown). */
long long slurm_unit_minutes(const json_t *unit, uint64_t deadline_ms);
/*
 * The unit as kettle-exec on a node gets it: without its slots here, since there the job has what Slurm gave it alone, and
 * with the memory of the job. New reference.
 */
json_t *slurm_unit_on_node(const json_t *unit);

/* One call of sbatch. */
struct sbatch_request {
	const char *sbatch; /* the command */
	const json_t *unit;
	const char *name;   /* of the job or array */
	const char *output; /* the file for what the script prints */
	size_t tasks;       /* of an array; 0: it is none */
	long long minutes;
};

/* sbatch and its options; the script and its arguments follow. */
void sbatch_arguments(const struct sbatch_request *request, struct arguments *arguments);

#endif
