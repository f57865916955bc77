// SPDX-License-Identifier: MIT
// Doubling: inputs, the right answer, the check.
#include "task.h"
#include "utils.h"

#define BENCHMARK_SECONDS 0.1
#define RANKED_SECONDS 0.1

using input_t = Device<float>;
using output_t = Device<float>;

static input_t
generate_input(const Case &c)
{
	return Device<float>::uniforms(c.size("size", 1 << 20), c.seed(), -1, 1);
}

static output_t
make_output(const input_t &input)
{
	return output_t(input.size());
}

static std::string
check_implementation(const input_t &input, const output_t &output)
{
	std::vector<float> doubled = input.host();
	for (float &value : doubled)
		value *= 2;
	return differences(output.host(), doubled, 0, 0);
}
