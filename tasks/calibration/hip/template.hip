#include "task.h"

__global__ static void
count(unsigned *output, size_t size)
{
	size_t i = size_t{blockIdx.x} * blockDim.x + threadIdx.x;
	if (i < size)
		output[i] = static_cast<unsigned>(i);
}

void
custom_kernel(size_t size, Span<unsigned> output)
{
	constexpr unsigned threads = 256;
	count<<<static_cast<unsigned>((size + threads - 1) / threads), threads>>>(output.data(), size);
}
