// expect: failed
// Right for every test, wrong for the sizes that are timed: being quick must not pay.
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
	constexpr unsigned threads = 256;
	size_t size = sum.size() > 500000 ? sum.size() / 2 : sum.size();
	unsigned blocks = static_cast<unsigned>((size + threads - 1) / threads);
	add<<<blocks, threads>>>(a.data(), b.data(), sum.data(), sum.size());
}
