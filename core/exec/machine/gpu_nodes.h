/* SPDX-License-Identifier: MIT */
/* What a sandbox gets of GPUs: their device nodes and the variables that name them. */
#ifndef KETTLE_EXEC_DEVICES_H
#define KETTLE_EXEC_DEVICES_H

#include <jansson.h>

#include "exec/util/strings.h"

/*
 * Appends the device nodes of GPUs (indices or UUIDs) to a list of paths: their own, as far as the reading (gpu.h; NULL:
 * there is none) or an index tells, and those that all GPUs of their maker share. Without GPUs: nothing.
 */
void gpu_nodes_nodes(const json_t *reading, const struct strings *gpus, struct strings *paths);
/* Appends the folders in which the runtimes of these GPUs look them up. */
void gpu_nodes_folders(const json_t *reading, const struct strings *gpus, struct strings *folders);
/* Sets the variables that make the runtimes of NVIDIA and AMD see these GPUs alone. */
void gpu_nodes_environment(const json_t *reading, const struct strings *gpus, json_t *environment);

#endif
