/* SPDX-License-Identifier: MIT */
/* What this machine's GPUs say of themselves, read by kettle-gpu, and what two readings tell. */
#ifndef KETTLE_EXEC_GPU_H
#define KETTLE_EXEC_GPU_H

#include <jansson.h>
#include <kettle/error.h>
#include <stdbool.h>
#include <stdint.h>

#include "exec/machine/execconfig.h"

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

#endif
