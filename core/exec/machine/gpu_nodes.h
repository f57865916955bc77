/* SPDX-License-Identifier: MIT */
/* What a sandbox must be given of GPUs: their device nodes and the variables that name them. */
#ifndef KETTLE_EXEC_DEVICES_H
#define KETTLE_EXEC_DEVICES_H

#include <jansson.h>

/*
 * Appends the device nodes of GPUs (indices or UUIDs, as strings) to an array of paths: their own, as far as the reading
 * (gpu.h; NULL: there is none) or an index tells, and those that all GPUs of their maker share. Without GPUs: nothing.
 */
int gpu_nodes_nodes(const json_t *reading, const json_t *gpus, json_t *paths);
/* Appends the folders in which the runtimes of these GPUs look them up. */
int gpu_nodes_folders(const json_t *reading, const json_t *gpus, json_t *folders);
/* Sets the variables that make the runtimes of NVIDIA and AMD see these GPUs alone. */
int gpu_nodes_environment(const json_t *reading, const json_t *gpus, json_t *environment);

#endif
