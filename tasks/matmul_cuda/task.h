// SPDX-License-Identifier: MIT
// Matrix multiplication on the device: what a submission gets and gives back.
#ifndef MATMUL_TASK_H
#define MATMUL_TASK_H

#include "gpu.h"

#include <cuda_bf16.h>

// Sets c, m rows of n, to the product of a, m rows of k, and b, k rows of n. All dimensions are multiples of 64. The
// matrices are on the device, one row behind the other; c comes full of NaN.
void custom_kernel(
	size_t m, size_t n, size_t k, Span<const __nv_bfloat16> a, Span<const __nv_bfloat16> b, Span<float> c);

#endif
