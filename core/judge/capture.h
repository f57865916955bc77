/* SPDX-License-Identifier: MIT */
/* The scope of a profile: which benchmarks, and which launches of kernels. Pure. */
#pragma once

#include <jansson.h>
#include <kettle/error.h>
#include <stdbool.h>
#include <stddef.h>

#define CAPTURE_MAX_LAUNCHES 1000
#define CAPTURE_MAX_SKIP 1000000

/*
 * Reads the arguments `benchmark` (indexes of the task's benchmarks), `kernel`, `kernel_base`, `launches` and `skip` of
 * a command; any may be absent. *ret_capture is a new reference, {"benchmarks": [index, …] in the task's order,
 * "kernel", "kernel_base", "launches", "skip"} (plan.schema.json, `capture`), or NULL where all are absent. task: the
 * checked one, or NULL, which leaves the indexes to capture_check. EINVAL: the mode is not profile, a value is not
 * valid for profilers, or the task has no such benchmark. [any]
 */
int capture_read(
	const json_t *args, const char *mode, const json_t *task, json_t **ret_capture, struct kettle_error *err);

/* Whether the task has the benchmarks of a capture (NULL: it has). EINVAL. [any] */
int capture_check(const json_t *capture, const json_t *task, struct kettle_error *err);

/* Whether a capture includes the benchmark of that index; without a list it includes all. [any] */
bool capture_has(const json_t *capture, size_t benchmark);

/* The part of a capture that goes into a run step (`capture` of plan.schema.json). New reference; NULL: none. [any] */
json_t *capture_for_step(const json_t *capture);

/*
 * Whether the profiler of a step (NULL: none but the harness) can do what the step's `capture` asks for. device: its name.
 * EINVAL names the profiler, the option that it lacks, and the profilers that have it. [any]
 */
int capture_fits(const char *profiler, const char *device, const json_t *capture, struct kettle_error *err);

/* plan.schema.json, as schema_load gives it. Borrowed; valid until the process ends. EINVAL. [any] */
int kept_schema_of_plans(const json_t **ret_schema, struct kettle_error *err);
