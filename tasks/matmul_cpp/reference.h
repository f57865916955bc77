// SPDX-License-Identifier: MIT
// Matrix multiplication: inputs, the right answer, the check.
#include "task.h"
#include "utils.h"

#include <limits>

// Short, for a first answer; a competition says more in `defines` of its task.yml.
#ifndef RANKED_SECONDS
#define BENCHMARK_SECONDS 0.15
#define RANKED_SECONDS 0.4
#endif

static input_t
generate_input(const Case &c)
{
	constexpr long long most = 4096;
	Random random(c.seed());
	input_t input = {c.size("m", most), c.size("n", most), c.size("k", most), {}, {}};
	input.a = random.uniforms<float>(input.m * input.k, -1, 1);
	input.b = random.uniforms<float>(input.k * input.n, -1, 1);
	return input;
}

static output_t
make_output(const input_t &input)
{
	return output_t(input.m * input.n, std::numeric_limits<float>::quiet_NaN());
}

// In double precision, a row of the result at a time.
static std::vector<double>
ref_kernel(const input_t &input)
{
	std::vector<double> product(input.m * input.n, 0.0);
	for (size_t i = 0; i < input.m; i++) {
		double *row = &product[i * input.n];
		for (size_t p = 0; p < input.k; p++) {
			double a = input.a[i * input.k + p];
			const float *b = &input.b[p * input.n];
			for (size_t j = 0; j < input.n; j++)
				row[j] += a * b[j];
		}
	}
	return product;
}

// Adding k products of numbers below 1 one after the other in 32-bit floats loses at most about k times half a unit
// of the last place of the sum, which stays well below sqrt(k); in practice a tenth of what is allowed here. Ten bits
// of mantissa instead of 23 lose a hundred times as much as is allowed.
static std::string
check_implementation(const input_t &input, const output_t &output)
{
	std::vector<double> got(output.begin(), output.end());
	return differences(got, ref_kernel(input), 1e-6, 1e-6 + 2e-7 * static_cast<double>(input.k));
}
