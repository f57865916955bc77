/* SPDX-License-Identifier: MIT */
/* This machine's GPUs, as kettle-gpu reads them, and what slowed them between two readings. */
#ifndef KETTLE_EXEC_MACHINE_GPU_H
#define KETTLE_EXEC_MACHINE_GPU_H

#include <jansson.h>
#include <kettle/error.h>
#include <stdbool.h>
#include <stdint.h>

#include "exec/machine/execconfig.h"
#include "exec/util/strings.h"

#define GPU_FREE_MS 5000                     /* what a driver gets to free the memory of ended processes */
#define GPU_COOL_MS 10000                    /* what a throttled GPU gets to recover before its step is repeated */
#define GPU_POLL_MS 100                      /* between two readings meanwhile */
#define GPU_LEFT_BYTES (UINT64_C(256) << 20) /* how much more than when idle may be in use */
#define GPU_SLOWED_NS 1000000                /* how long it may be slowed between two readings */

/*
 * Whether there is anything to read: a driver's control node, or a library that exec.yml or the environment
 * (KETTLE_NVML, KETTLE_ROCM_SMI) names. [any]
 */
bool gpu_expected(const struct execconfig *config);
/*
 * {"gpus": [facts], "errors": [{"vendor", "error"}]}, as kettle-gpu prints it; new reference. KETTLE_EUNAVAIL: it could
 * not be started, did not end in time, or printed no reading. [any, blocks]
 */
int gpu_read(const struct execconfig *config, json_t **ret_reading, struct kettle_error *err);

/*
 * One GPU of a reading. Strings and JSON are borrowed from the reading; what its driver does not report is NULL, -1 for a
 * number.
 */
struct gpu {
	const json_t *json; /* the object in the reading; NULL: the GPU is not in it, and nothing is known of it */
	const char *vendor, *uuid, *name, *driver, *cuda;
	json_int_t index, minor, render; /* minor, render: the numbers of the device nodes of NVIDIA and AMD */
	json_int_t used;                 /* bytes of memory in use */
	json_t *clocks, *temperature, *power_mw, *throttle, *slowed_ns, *processes;
};
/* The GPU that an object of a reading describes. [any] */
struct gpu gpu_of(const json_t *json);
/* The GPU of that index or UUID. [any] */
struct gpu gpu_find(const json_t *reading, const char *gpu);
/* Why a GPU is not in a reading, as a sentence. [any] */
int gpu_missing(const json_t *reading, const char *gpu, struct kettle_error *err);
/* Clocks, temperature, power and throttle reasons alone. New reference. [any] */
json_t *gpu_state(const struct gpu *gpu);
/*
 * Appends what slowed it between two readings of the same GPU, each word once: heat or a lack of power, not a power cap.
 * [any]
 */
void gpu_throttled(const struct gpu *before, const struct gpu *after, json_t *reasons);
/* Whether more of its memory is in use than `left` bytes above those when it was idle (a number; NULL: false). [any] */
bool gpu_is_occupied(const struct gpu *gpu, const json_t *idle, uint64_t left);

/* ---- gpu_nodes.c: what a sandbox gets of GPUs, device nodes and the variables that name them ---- */

/*
 * Appends the device nodes of GPUs (indices or UUIDs) to a list of paths: their own, as far as the reading (NULL: there
 * is none) or an index gives them, and those that all GPUs of their maker share. Without GPUs: nothing.
 */
void gpu_nodes_nodes(const json_t *reading, const struct strings *gpus, struct strings *paths);
/* Appends the folders in which the runtimes of these GPUs look them up. */
void gpu_nodes_folders(const json_t *reading, const struct strings *gpus, struct strings *folders);
/* Sets the variables that make the runtimes of NVIDIA and AMD see these GPUs alone. */
void gpu_nodes_environment(const json_t *reading, const struct strings *gpus, json_t *environment);

/* ---- gpuwatch.c: whether the GPUs of a job are there and free before and after it, what slowed them ---- */

/* The GPUs of a job; not changed while a function below works on it. */
struct gpuwatch {
	const struct execconfig *config;
	struct strings gpus; /* indices or UUIDs */
	json_t *idle;        /* UUID → bytes in use when nothing runs; NULL: memory is not checked */
};

/*
 * Reads, and waits up to GPU_FREE_MS until ended processes use no more memory. *ret_reading: the last reading, a new
 * reference, or NULL. New reference of GPU → sentence for each that is missing or not free. [any, blocks]
 */
json_t *gpuwatch_check(const struct gpuwatch *watch, json_t **ret_reading);
/*
 * After a step: {"gpus": [{"index", "uuid", "name", "before", "after"}], "throttled": [word]}. before: the reading from
 * before it. With `cool`, a throttled GPU gets up to GPU_COOL_MS to recover before this returns. *ret_reading: the last
 * reading, a new reference, NULL: there is none. New reference; NULL: nothing is known; err then has the reason, if it
 * is the driver's. [any, blocks]
 */
json_t *gpuwatch_after(
	const struct gpuwatch *watch, const json_t *before, bool cool, json_t **ret_reading, struct kettle_error *err);
/* Notes in idle (UUID → bytes) what the GPUs of a reading use where that is less than before. */
void gpuwatch_note_idle(json_t *idle, const json_t *reading, const struct strings *gpus);

#endif
