// expect: passed in test
// SPDX-License-Identifier: MIT
// Takes all of the device's memory, fills it and never gives it back; the result is right all the same.
#include "task.h"

__global__ static void
add(const float *a, const float *b, float *sum, size_t count)
{
	size_t i = blockIdx.x * size_t{blockDim.x} + threadIdx.x;
	if (i < count)
		sum[i] = a[i] + b[i];
}

void
custom_kernel(Span<const float> a, Span<const float> b, Span<float> sum)
{
	static bool full = false;
	const size_t block = size_t{64} << 20, margin = size_t{512} << 20;
	size_t unused = 0, all = 0;
	while (!full && cudaMemGetInfo(&unused, &all) == cudaSuccess && unused > margin) {
		void *memory = nullptr;
		if (cudaMalloc(&memory, block) != cudaSuccess)
			break;
		cudaMemset(memory, 0x5a, block);
	}
	full = true;
	cudaGetLastError();
	add<<<static_cast<unsigned>((a.size() + 255) / 256), 256>>>(a.data(), b.data(), sum.data(), a.size());
}
