// expect: failed
// Sets its inputs to zero, so that zero would be right if the check looked at them.
#include "task.h"

__global__ static void
add(float *a, float *b, float *sum, size_t size)
{
	size_t i = size_t{blockIdx.x} * blockDim.x + threadIdx.x;
	if (i < size)
		a[i] = b[i] = sum[i] = 0;
}

void
custom_kernel(Span<const float> a, Span<const float> b, Span<float> sum)
{
	constexpr unsigned threads = 256;
	unsigned blocks = static_cast<unsigned>((sum.size() + threads - 1) / threads);
	add<<<blocks, threads>>>(const_cast<float *>(a.data()), const_cast<float *>(b.data()), sum.data(), sum.size());
}
