// SPDX-License-Identifier: MIT
// Doubling: inputs, the right answer, the check.
#include "task.h"
#include "utils.h"

#include <limits>

#define BENCHMARK_SECONDS 0.1
#define RANKED_SECONDS 0.1

static input_t
generate_input(const Case &c)
{
	return Random(c.seed()).uniforms<float>(c.size("size", 1 << 20), -1, 1);
}

static output_t
make_output(const input_t &input)
{
	return output_t(input.size(), std::numeric_limits<float>::quiet_NaN());
}

static std::string
check_implementation(const input_t &input, const output_t &output)
{
	output_t doubled(input);
	for (float &value : doubled)
		value *= 2;
	return differences(output, doubled, 0, 0);
}
