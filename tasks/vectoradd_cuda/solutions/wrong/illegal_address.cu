// expect: failed
// Writes to address 0 of the device, which is then of no use to anybody in this process.
#include "task.h"

__global__ static void
add(const float *a, const float *b, float *sum, size_t size)
{
	size_t i = size_t{blockIdx.x} * blockDim.x + threadIdx.x;
	if (i < size)
		*static_cast<volatile float *>(nullptr) = a[i] + b[i] + sum[i];
}

void
custom_kernel(Span<const float> a, Span<const float> b, Span<float> sum)
{
	constexpr unsigned threads = 256;
	unsigned blocks = static_cast<unsigned>((sum.size() + threads - 1) / threads);
	add<<<blocks, threads>>>(a.data(), b.data(), sum.data(), sum.size());
}
