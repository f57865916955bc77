/* SPDX-License-Identifier: MIT */
/* The GPUs of AMD, as ROCm SMI and the kernel's list of compute nodes tell. */
#ifndef KETTLE_GPU_ROCM_H
#define KETTLE_GPU_ROCM_H

#include <jansson.h>
#include <kettle/error.h>

#define ROCM_LIBRARY "librocm_smi64.so"
#define ROCM_TOPOLOGY "/sys/class/kfd/kfd/topology/nodes"

/*
 * Appends an object for each GPU. topology: the folder of the kernel's compute nodes, which know the architecture.
 * KETTLE_ENOENT: there is no such library. KETTLE_EUNAVAIL: it does not work, or the driver behind it does not.
 */
int rocm_read(const char *library, const char *topology, json_t *gpus, struct kettle_error *err);

#endif
