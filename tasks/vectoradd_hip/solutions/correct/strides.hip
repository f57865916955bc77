// As many blocks as keep the device busy; each thread goes on in steps of the whole grid.
#include "task.h"

__global__ static void
add(const float *a, const float *b, float *sum, size_t size)
{
	for (size_t i = size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < size; i += size_t{gridDim.x} * blockDim.x)
		sum[i] = a[i] + b[i];
}

void
custom_kernel(Span<const float> a, Span<const float> b, Span<float> sum)
{
	constexpr unsigned threads = 256, most = 4096;
	size_t needed = (sum.size() + threads - 1) / threads;
	unsigned blocks = needed < most ? static_cast<unsigned>(needed) : most;
	add<<<blocks, threads>>>(a.data(), b.data(), sum.data(), sum.size());
}
