/* SPDX-License-Identifier: MIT */
/* What a sandbox must be given of a GPU: its device nodes and the variables that name it. */
#ifndef KETTLE_EXEC_DEVICES_H
#define KETTLE_EXEC_DEVICES_H

#include <jansson.h>

/*
 * Appends the device nodes of a GPU (index or UUID) to an array of paths: its own where an index tells, those that all
 * GPUs share.
 */
int devices_nodes(const char *gpu, json_t *paths);
/* Sets the variables that make the runtimes of NVIDIA and AMD see this GPU alone. */
int devices_environment(const char *gpu, json_t *environment);

#endif
