// A thread for each element.
#include "task.h"

__global__ static void
copy(const float *input, float *output, size_t size)
{
	size_t i = size_t{blockIdx.x} * blockDim.x + threadIdx.x;
	if (i < size)
		output[i] = input[i];
}

void
custom_kernel(Span<const float> input, Span<float> output)
{
	constexpr unsigned threads = 256;
	unsigned blocks = static_cast<unsigned>((output.size() + threads - 1) / threads);
	copy<<<blocks, threads>>>(input.data(), output.data(), output.size());
}
