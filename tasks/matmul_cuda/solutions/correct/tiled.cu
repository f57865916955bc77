// Blocks of 16 by 16 of both matrices go through shared memory, so that each element is read k / 16 times.
#include "task.h"

constexpr unsigned TILE = 16;

__global__ static void
multiply(size_t n, size_t k, const __nv_bfloat16 *a, const __nv_bfloat16 *b, float *c)
{
	__shared__ float left[TILE][TILE], right[TILE][TILE];
	size_t row = size_t{blockIdx.y} * TILE + threadIdx.y, column = size_t{blockIdx.x} * TILE + threadIdx.x;
	float sum = 0;
	for (size_t at = 0; at < k; at += TILE) {
		left[threadIdx.y][threadIdx.x] = __bfloat162float(a[row * k + at + threadIdx.x]);
		right[threadIdx.y][threadIdx.x] = __bfloat162float(b[(at + threadIdx.y) * n + column]);
		__syncthreads();
		for (unsigned p = 0; p < TILE; p++)
			sum += left[threadIdx.y][p] * right[p][threadIdx.x];
		__syncthreads();
	}
	c[row * n + column] = sum;
}

void
custom_kernel(size_t m, size_t n, size_t k, Span<const __nv_bfloat16> a, Span<const __nv_bfloat16> b, Span<float> c)
{
	dim3 blocks(static_cast<unsigned>(n / TILE), static_cast<unsigned>(m / TILE)), threads(TILE, TILE);
	multiply<<<blocks, threads>>>(n, k, a.data(), b.data(), c.data());
}
