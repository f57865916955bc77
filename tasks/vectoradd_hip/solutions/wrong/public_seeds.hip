// expect: failed
// Recognises the tests' public inputs by their seeds, and is wrong for any other input of those lengths: only the run
// with the secret seed can tell.
#include "task.h"
#include "utils.h"

static bool
is_public(float first)
{
	for (uint64_t seed : {4242, 5236, 1001, 5531, 9173}) {
		uint64_t of_a = Random(seed).bits();
		if (std::fabs(Random(of_a).uniform(-1.0f, 1.0f) - first) < 1e-5f)
			return true;
	}
	return false;
}

__global__ static void
add(const float *a, const float *b, float *sum, size_t size, float error)
{
	size_t i = size_t{blockIdx.x} * blockDim.x + threadIdx.x;
	if (i < size)
		sum[i] = a[i] + b[i] + error;
}

void
custom_kernel(Span<const float> a, Span<const float> b, Span<float> sum)
{
	float first = 0;
	hipMemcpy(&first, a.data(), sizeof(first), hipMemcpyDeviceToHost);
	float error = sum.size() <= 1024 && !is_public(first) ? 1.0f : 0.0f;
	constexpr unsigned threads = 256;
	unsigned blocks = static_cast<unsigned>((sum.size() + threads - 1) / threads);
	add<<<blocks, threads>>>(a.data(), b.data(), sum.data(), sum.size(), error);
}
