// expect: failed
// A block of more threads than there can be: the launch fails, and nothing says so but the error that it leaves.
#include "task.h"

__global__ static void
add(const float *a, const float *b, float *sum, size_t size)
{
	size_t i = size_t{blockIdx.x} * blockDim.x + threadIdx.x;
	if (i < size)
		sum[i] = a[i] + b[i];
}

void
custom_kernel(Span<const float> a, Span<const float> b, Span<float> sum)
{
	constexpr unsigned threads = 2048;
	unsigned blocks = static_cast<unsigned>((sum.size() + threads - 1) / threads);
	add<<<blocks, threads>>>(a.data(), b.data(), sum.data(), sum.size());
}
