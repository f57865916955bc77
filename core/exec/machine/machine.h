/* SPDX-License-Identifier: MIT */
/* What this machine is: processor, cores, memory, kernel, name. */
#ifndef KETTLE_EXEC_MACHINE_MACHINE_H
#define KETTLE_EXEC_MACHINE_MACHINE_H

#include <jansson.h>
#include <stdint.h>

#include "exec/util/sha256.h"

/* {"cpu", "cores", "memory", "kernel", "platform", "host"}; new reference. What cannot be read is "unknown" or 0. */
json_t *machine_describe(void);
/* Bytes of memory; 0: unknown. */
uint64_t machine_memory(void);
/* A digest of the processor's model and flags: what `-march=native` means. */
void machine_cpu_digest(char ret_hex[DIGEST_HEX_SIZE]);

#endif
