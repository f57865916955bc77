/* SPDX-License-Identifier: MIT */
/* The names of a device's GPU for compilers in Python, in steps that do not have the GPU. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

/* Whether the device of a request has a GPU. */
bool architecture_is_gpu(const json_t *device);
/*
 * Names the GPU's architecture to torch, which compiles extensions in a sandbox without a device: the one of the
 * configuration, else of the unit's GPU, if the machine has reported it.
 */
void architecture_add(json_t *env, const json_t *device);
/* Triton's target, "cuda:90:32" or "hip:gfx942:64". New reference; NULL: there is no GPU, or none is known. */
json_t *architecture_of_triton(const json_t *device);
/* The GPU's name as its driver says it; "-": it is not known. */
const char *architecture_name(const json_t *device);
/* The profiler for the device (plan.schema.json); NULL: only torch's own, which the harness starts itself. Static. */
const char *architecture_profiler(const json_t *device);
