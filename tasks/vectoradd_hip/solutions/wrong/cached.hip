// expect: failed
// Keeps its first result of each length and gives it out again: passes the tests, not the benchmarks.
#include "task.h"

#include <map>

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
	static std::map<size_t, float *> kept;
	float *&result = kept[sum.size()];
	if (result) {
		hipMemcpy(sum.data(), result, sum.size() * sizeof(float), hipMemcpyDeviceToDevice);
		return;
	}
	constexpr unsigned threads = 256;
	unsigned blocks = static_cast<unsigned>((sum.size() + threads - 1) / threads);
	add<<<blocks, threads>>>(a.data(), b.data(), sum.data(), sum.size());
	if (hipMalloc(&result, sum.size() * sizeof(float)) == hipSuccess)
		hipMemcpy(result, sum.data(), sum.size() * sizeof(float), hipMemcpyDeviceToDevice);
}
