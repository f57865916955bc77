// SPDX-License-Identifier: MIT
// The part that a participant would send: one kernel, and its launch.
#include <cuda_runtime.h>

__global__ static void
twice(float *x, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		x[i] *= 2;
}

void
run_kernel(float *x, int n)
{
	twice<<<(n + 255) / 256, 256>>>(x, n);
}
