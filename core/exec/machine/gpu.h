/* SPDX-License-Identifier: MIT */
/* What this machine's GPUs say of themselves, read by kettle-gpu, and what two readings tell. */
#ifndef KETTLE_EXEC_MACHINE_GPU_H
#define KETTLE_EXEC_MACHINE_GPU_H

#include <jansson.h>
#include <kettle/error.h>
#include <stdbool.h>
#include <stdint.h>

#include "exec/machine/execconfig.h"
#include "exec/util/strings.h"

#define GPU_FREE_MS 5000                     /* what a driver gets to free the memory of the dead */
#define GPU_COOL_MS 10000                    /* what a throttled GPU gets to recover before its step is repeated */
#define GPU_POLL_MS 100                      /* between two readings meanwhile */
#define GPU_LEFT_BYTES (UINT64_C(256) << 20) /* more in use than when it was idle is too much */
#define GPU_SLOWED_NS 1000000                /* slowed for less than this between two readings is nothing */

/*
 * Whether there is anything to read: a driver's control node, or a library that exec.yml or the environment
 * (KETTLE_NVML, KETTLE_ROCM_SMI) names. [any]
 */
bool gpu_expected(const struct execconfig *config);
/*
 * {"gpus": [facts], "errors": [{"vendor", "error"}]}, as kettle-gpu prints it; new reference. KETTLE_EUNAVAIL: it could
 * not be started, did not end in time, or said nothing of use. [any, blocks]
 */
int gpu_read(const struct execconfig *config, json_t **ret_reading, struct kettle_error *err);
/* The facts of a GPU by index or UUID; NULL: it is not there. Borrowed. [any] */
const json_t *gpu_find(const json_t *reading, const char *gpu);
/* Why a GPU is not in a reading, as a sentence. [any] */
int gpu_missing(const json_t *reading, const char *gpu, struct kettle_error *err);
/* Clocks, temperature, power and throttle reasons alone. New reference. [any] */
json_t *gpu_state(const json_t *facts);
/* Whether it is being slowed at this moment by heat or by want of power; a power cap that is doing its work is neither. [any] */
bool gpu_is_throttled(const json_t *facts);
/* Appends what slowed it between two readings of the same GPU, each word once. [any] */
void gpu_throttled(const json_t *before, const json_t *after, json_t *reasons);
/* Bytes in use; 0 where it does not say. [any] */
uint64_t gpu_used(const json_t *facts);

/* ---- gpu_nodes.c: what a sandbox gets of GPUs, device nodes and the variables that name them ---- */

/*
 * Appends the device nodes of GPUs (indices or UUIDs) to a list of paths: their own, as far as the reading (gpu.h; NULL:
 * there is none) or an index tells, and those that all GPUs of their maker share. Without GPUs: nothing.
 */
void gpu_nodes_nodes(const json_t *reading, const struct strings *gpus, struct strings *paths);
/* Appends the folders in which the runtimes of these GPUs look them up. */
void gpu_nodes_folders(const json_t *reading, const struct strings *gpus, struct strings *folders);
/* Sets the variables that make the runtimes of NVIDIA and AMD see these GPUs alone. */
void gpu_nodes_environment(const json_t *reading, const struct strings *gpus, json_t *environment);

/* ---- gpuwatch.c: that the GPUs of a job are there and free before and after it, what slowed them ---- */

/* Which GPUs, not changed while a function below works on it. */
struct gpuwatch {
	const struct execconfig *config;
	struct strings gpus; /* indices or UUIDs */
	json_t *idle;        /* UUID → bytes in use when nothing runs; NULL: memory is not looked at */
};

/*
 * Reads, and waits up to GPU_FREE_MS until no memory of the dead is in use any more. *ret_reading: the last one, a new
 * reference, or NULL. New reference of GPU → sentence for those that are not in order, which is empty when all is well.
 * [any, blocks]
 */
json_t *gpuwatch_check(const struct gpuwatch *watch, json_t **ret_reading);
/*
 * After a step: {"gpus": [{"index", "uuid", "name", "before", "after"}], "throttled": [word]}. before: the reading from
 * before it. With `cool`, a throttled GPU gets up to GPU_COOL_MS to recover before this returns. *ret_reading: the last
 * reading, a new reference, NULL: there is none. New reference; NULL: nothing can be said; err then has the reason, if
 * it is the driver's. [any, blocks]
 */
json_t *gpuwatch_after(
	const struct gpuwatch *watch, const json_t *before, bool cool, json_t **ret_reading, struct kettle_error *err);
/* Notes in idle (UUID → bytes) what the GPUs of a reading use where that is less than before. */
void gpuwatch_note_idle(json_t *idle, const json_t *reading, const struct strings *gpus);

#endif
