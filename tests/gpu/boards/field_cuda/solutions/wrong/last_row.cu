// expect: failed
// The last row is left out.
#include "task.h"

#include <cuda_runtime.h>

__global__ static void
gray(const float *from, float *to, size_t count)
{
	size_t i = blockIdx.x * size_t{blockDim.x} + threadIdx.x;
	if (i < count)
		to[i] = 0.2989f * from[3 * i] + 0.5870f * from[3 * i + 1] + 0.1140f * from[3 * i + 2];
}

output_t
custom_kernel(input_t data)
{
	output_t output(data.size() / CHANNELS);
	float *from = nullptr, *to = nullptr;
	cudaMalloc(&from, data.size() * sizeof(float));
	cudaMalloc(&to, output.size() * sizeof(float));
	cudaMemcpy(from, data.data(), data.size() * sizeof(float), cudaMemcpyHostToDevice);
	gray<<<static_cast<unsigned>((output.size() - 300) / 256), 256>>>(from, to, output.size());
	cudaMemcpy(output.data(), to, output.size() * sizeof(float), cudaMemcpyDeviceToHost);
	cudaFree(from);
	cudaFree(to);
	return output;
}
