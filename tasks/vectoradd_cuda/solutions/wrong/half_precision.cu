// expect: failed
// Adds with eight bits of mantissa.
#include "task.h"

__device__ static float
rounded(float value)
{
	union {
		float number;
		unsigned bits;
	} both = {value};
	both.bits &= 0xffff0000u;
	return both.number;
}

__global__ static void
add(const float *a, const float *b, float *sum, size_t size)
{
	size_t i = size_t{blockIdx.x} * blockDim.x + threadIdx.x;
	if (i < size)
		sum[i] = rounded(a[i]) + rounded(b[i]);
}

void
custom_kernel(Span<const float> a, Span<const float> b, Span<float> sum)
{
	constexpr unsigned threads = 256;
	unsigned blocks = static_cast<unsigned>((sum.size() + threads - 1) / threads);
	add<<<blocks, threads>>>(a.data(), b.data(), sum.data(), sum.size());
}
