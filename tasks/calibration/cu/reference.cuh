// SPDX-License-Identifier: MIT
// Calibration on a device: inputs and the check. What counts is what the harness measures besides. For CUDA and HIP.
#include "task.h"
#include "utils.h"

#define BENCHMARK_SECONDS 3.0

using input_t = size_t;
using output_t = Device<unsigned>;

static input_t
generate_input(const Case &c)
{
	return c.size("size", 1 << 28);
}

static output_t
make_output(const input_t &input)
{
	return output_t(input);
}

static std::string
check_implementation(const input_t &, const output_t &output)
{
	std::vector<unsigned> numbers = output.host();
	for (size_t i = 0; i < numbers.size(); i++)
		if (numbers[i] != i)
			return "a number is wrong";
	return "";
}
