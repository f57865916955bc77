// SPDX-License-Identifier: MIT
// Calibration: inputs and the check. What counts is what the harness measures besides.
#include "task.h"
#include "utils.h"

#define BENCHMARK_SECONDS 3.0

static input_t
generate_input(const Case &c)
{
	return {c.size("steps", 100000000), 1};
}

static output_t
make_output(const input_t &)
{
	return 0;
}

static std::string
check_implementation(const input_t &input, const output_t &output)
{
	uint64_t x = input.start;
	for (size_t i = 0; i < input.steps; i++)
		x = x * 6364136223846793005u + 1442695040888963407u;
	return output == x ? "" : "the number is wrong";
}
