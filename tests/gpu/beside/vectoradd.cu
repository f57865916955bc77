// SPDX-License-Identifier: MIT
// The run of a job: one vectoradd, with memory of its own. Part of the program, and a library that a prepared process loads.
#include <cuda_runtime.h>

#include <vector>

static constexpr int SIZE = 1 << 20;

__global__ static void
vectoradd(const float *a, const float *b, float *sum, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		sum[i] = a[i] + b[i];
}

// Returns null, or what went wrong.
extern "C" const char *
run_vectoradd()
{
	std::vector<float> host(SIZE, 1);
	float *device = nullptr;
	const size_t bytes = SIZE * sizeof(float);
	cudaError_t code = cudaMalloc(&device, 3 * bytes);
	if (code == cudaSuccess)
		code = cudaMemcpy(device, host.data(), bytes, cudaMemcpyHostToDevice);
	if (code == cudaSuccess)
		code = cudaMemcpy(device + SIZE, host.data(), bytes, cudaMemcpyHostToDevice);
	if (code == cudaSuccess) {
		vectoradd<<<SIZE / 256, 256>>>(device, device + SIZE, device + 2 * SIZE, SIZE);
		code = cudaGetLastError();
	}
	if (code == cudaSuccess)
		code = cudaMemcpy(host.data(), device + 2 * SIZE, bytes, cudaMemcpyDeviceToHost);
	if (code == cudaSuccess)
		code = cudaFree(device);
	if (code != cudaSuccess)
		return cudaGetErrorString(code);
	return host[0] == 2 && host[SIZE - 1] == 2 ? nullptr : "the sum is wrong";
}
