// SPDX-License-Identifier: MIT
// Inputs, and the check, which is done on the device, since it is not what the time is for.
#include "task.h"
#include "utils.h"

#include <math.h>
#include <tuple>

#define RANKED_SECONDS 0.3

using input_t = std::tuple<Device<float>, Work>;
using output_t = Device<float>;

static size_t
zero_or_more(const Case &c, const char *key)
{
	long long value = c.integer(key);
	if (value < 0)
		throw BadCase(std::string("`") + key + "` must not be negative");
	return static_cast<size_t>(value);
}

static input_t
generate_input(const Case &c)
{
	Work work = {zero_or_more(c, "steps"), zero_or_more(c, "products"), c.integer("spin")};
	return {Device<float>::uniforms(c.size("size", 1LL << 28), Random(c.seed()).bits(), -1, 1), work};
}

static output_t
make_output(const input_t &input)
{
	return output_t(std::get<1>(input).steps ? starts : std::get<0>(input).size());
}

__global__ static void
check_kernel(const float *numbers, size_t size, Work work, const float *results, size_t count, unsigned *wrong)
{
	for (size_t i = size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += size_t{gridDim.x} * blockDim.x) {
		float expected = work.steps ? 0 : work.products ? numbers[i] : 2 * numbers[i];
		for (size_t k = 0; !work.steps && k < work.products; k++)
			expected = fmaf(expected, 0.999f, 0.5f);
		size_t place = i;
		for (size_t k = 0; k < work.steps; k++)
			place = next_place(numbers[place], size);
		if (results[i] != (work.steps ? static_cast<float>(place) : expected))
			*wrong = 1;
	}
}

static std::string
check_implementation(const input_t &input, const output_t &output)
{
	const Device<float> &numbers = std::get<0>(input);
	Device<unsigned> wrong(std::vector<unsigned>(1));
	GPU_LAUNCH(check_kernel, gpu_blocks(output.size()), GPU_THREADS, numbers.data(), numbers.size(), std::get<1>(input),
		output.data(), output.size(), wrong.data());
	return wrong.host()[0] ? "a result is wrong" : "";
}
