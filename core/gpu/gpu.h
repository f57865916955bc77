/* SPDX-License-Identifier: MIT */
/* kettle-gpu: what the makers' libraries report of this machine's GPUs, as JSON. A member that a GPU lacks is left out. */
#pragma once

#include <jansson.h>
#include <kettle/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NVML_LIBRARY "libnvidia-ml.so.1"
#define ROCM_LIBRARY "librocm_smi64.so"
#define ROCM_TOPOLOGY "/sys/class/kfd/kfd/topology/nodes"

#define FACTS_TEXT_SIZE 128
#define FACTS_GPUS_MAX 256      /* of one maker; more are left out */
#define FACTS_PROCESSES_MAX 256 /* of one GPU: more, and none is named */
#define FACTS_PROCESSES_SHOWN 16

/* A function to look up: its name, and where its address goes. */
struct facts_symbol {
	const char *name;
	void *address; /* of a pointer to a function */
	bool optional;
};

/*
 * Opens a library and looks the functions up; those that are optional and missing become NULL. KETTLE_ENOENT: it is not
 * installed; KETTLE_EUNAVAIL: it cannot be loaded, or lacks a function. It stays open until the process ends.
 */
int facts_open(const char *path, const struct facts_symbol *symbols, size_t count, struct kettle_error *err);
/* Set a member; a text only where rc is 0, a number only where JSON can have it (INT64_MAX). */
void facts_text(json_t *gpu, const char *key, int rc, const char *text);
void facts_number(json_t *gpu, const char *key, uint64_t number);

/*
 * Append an object for each GPU of a maker. topology: the folder of the kernel's compute nodes, which know the
 * architecture of AMD's. KETTLE_ENOENT: there is no such library. KETTLE_EUNAVAIL: it, or the driver behind it, does
 * not work; the GPUs before the one that failed stay.
 */
int nvml_read(const char *library, json_t *gpus, struct kettle_error *err);
int rocm_read(const char *library, const char *topology, json_t *gpus, struct kettle_error *err);
