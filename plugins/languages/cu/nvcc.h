/* SPDX-License-Identifier: MIT */
/* What nvcc's flags mean to the host's compiler, for programs that it can link without nvcc. All of it pure. [any] */
#ifndef KETTLE_CU_NVCC_H
#define KETTLE_CU_NVCC_H

#include <jansson.h>
#include <stdbool.h>

/* Whether it is known of all flags (a list, or NULL) what they mean to the host's compiler when it links. */
bool nvcc_host_links(const json_t *flags);
/* Whether all libraries (names, or NULL) are known to have no device code that is linked. */
bool nvcc_host_libraries(const json_t *names);
/* Appends what the flags mean then; only after nvcc_host_links. */
void nvcc_host_flags(const json_t *flags, json_t **argv);

#endif
