// SPDX-License-Identifier: MIT
// Vector addition on the device: inputs, the right answer, the check. For CUDA and HIP.
#include "task.h"
#include "utils.h"

#include <tuple>

using input_t = std::tuple<Device<float>, Device<float>>; // a and b
using output_t = Device<float>;

static input_t
generate_input(const Case &c)
{
	size_t size = c.size("size", 1LL << 28);
	Random seeds(c.seed());
	uint64_t of_a = seeds.bits(), of_b = seeds.bits();
	return {Device<float>::uniforms(size, of_a, -1, 1), Device<float>::uniforms(size, of_b, -1, 1)};
}

static output_t
make_output(const input_t &input)
{
	return output_t(std::get<0>(input).size());
}

static std::vector<float>
ref_kernel(const input_t &input)
{
	std::vector<float> sum = std::get<0>(input).host(), b = std::get<1>(input).host();
	for (size_t i = 0; i < sum.size(); i++)
		sum[i] += b[i];
	return sum;
}

static std::string
check_implementation(const input_t &input, const output_t &output)
{
	return differences(output.host(), ref_kernel(input), 0, 1e-7); // one addition: nothing to lose
}
