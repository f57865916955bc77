// SPDX-License-Identifier: MIT
// Vector addition: inputs, the right answer, the check.
#include "task.h"
#include "utils.h"

#include <limits>

// Short, for a first answer; a competition says more in `defines` of its task.yml.
#ifndef RANKED_SECONDS
#define BENCHMARK_SECONDS 0.2
#define RANKED_SECONDS 0.5
#endif

static input_t
generate_input(const Case &c)
{
	size_t size = c.size("size", 1 << 26);
	Random random(c.seed());
	input_t input;
	input.a = random.uniforms<float>(size, -1, 1);
	input.b = random.uniforms<float>(size, -1, 1);
	return input;
}

static output_t
make_output(const input_t &input)
{
	return output_t(input.a.size(), std::numeric_limits<float>::quiet_NaN());
}

static output_t
ref_kernel(const input_t &input)
{
	output_t sum(input.a.size());
	for (size_t i = 0; i < sum.size(); i++)
		sum[i] = input.a[i] + input.b[i];
	return sum;
}

static std::string
check_implementation(const input_t &input, const output_t &output)
{
	return differences(output, ref_kernel(input), 0, 1e-7); // one addition: nothing to lose
}

// What calls are compared with: built like a good submission.
static void
plain_sum(const input_t &input, output_t &output)
{
	const float *a = input.a.data(), *b = input.b.data();
	float *sum = output.data();
	for (size_t i = 0, size = output.size(); i < size; i++)
		sum[i] = a[i] + b[i];
}
#define TASK_CALIBRATOR plain_sum
