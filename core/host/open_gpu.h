/* SPDX-License-Identifier: MIT */
/* Opens a GPU before the code that uses it is known. Needs only the C library. */
#pragma once

#include <stddef.h>

/*
 * Makes the context that runtimes use on the first GPU that CUDA_VISIBLE_DEVICES or HIP_VISIBLE_DEVICES names; without
 * either nothing. -1: ret_why says why not.
 */
int open_gpu(char *ret_why, size_t size);
