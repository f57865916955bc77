// expect: failed in test
// SPDX-License-Identifier: MIT
// An assertion in a kernel fails: the device is of no more use to this process.
#include "task.h"

#include <assert.h>

__global__ static void
checks(const float *a, float *sum, size_t count)
{
	size_t i = blockIdx.x * size_t{blockDim.x} + threadIdx.x;
	assert(i > count);
	sum[i] = a[i];
}

void
custom_kernel(Span<const float> a, Span<const float>, Span<float> sum)
{
	checks<<<1, 32>>>(a.data(), sum.data(), a.size());
}
