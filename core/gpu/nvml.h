/* SPDX-License-Identifier: MIT */
/* The GPUs of NVIDIA, as NVML tells. */
#ifndef KETTLE_GPU_NVML_H
#define KETTLE_GPU_NVML_H

#include <jansson.h>
#include <kettle/error.h>

#define NVML_LIBRARY "libnvidia-ml.so.1"

/*
 * Appends an object for each GPU. KETTLE_ENOENT: there is no such library. KETTLE_EUNAVAIL: it does not work, or the
 * driver behind it does not; the GPUs before the one that failed stay.
 */
int nvml_read(const char *library, json_t *gpus, struct kettle_error *err);

#endif
