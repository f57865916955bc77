// SPDX-License-Identifier: MIT
// Identity: inputs, the right answer, the check.
#include "task.h"
#include "utils.h"

using input_t = Device<float>;
using output_t = Device<float>;

static input_t
generate_input(const Case &c)
{
	return input_t::uniforms(c.size("size", 1LL << 28), c.seed(), 0, 1);
}

static output_t
make_output(const input_t &input)
{
	return output_t(input.size());
}

static std::string
check_implementation(const input_t &input, const output_t &output)
{
	return differences(output.host(), input.host(), 0, 0);
}
