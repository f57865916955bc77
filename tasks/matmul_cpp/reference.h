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

// In double precision, a row of the result at a time, four rows of b to each.
static std::vector<double>
ref_kernel(const input_t &input)
{
	constexpr size_t step = 4;
	std::vector<double> product(input.m * input.n, 0.0);
	for (size_t i = 0; i < input.m; i++) {
		double *row = &product[i * input.n];
		for (size_t p = 0; p < input.k; p += step) {
			double a[step] = {};
			const float *b[step];
			for (size_t q = 0; q < step; q++) {
				bool there = p + q < input.k;
				a[q] = there ? input.a[i * input.k + p + q] : 0;
				b[q] = &input.b[(there ? p + q : p) * input.n];
			}
			for (size_t j = 0; j < input.n; j++)
				row[j] += a[0] * b[0][j] + a[1] * b[1][j] + a[2] * b[2][j] + a[3] * b[3][j];
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

// What calls are compared with: built like a good submission, so that what else the machine does slows down both alike.
// Blocks of 4 rows and 16 columns that stay in registers for the whole sum.
typedef float floats __attribute__((vector_size(32)));

__attribute__((noinline)) static void
block_of_product(const input_t &input, size_t row, size_t column, const std::vector<float> &panel, output_t &output)
{
	constexpr size_t rows = 4, width = sizeof(floats) / sizeof(float);
	floats sums[rows][2] = {};
	const float *a[rows];
	for (size_t r = 0; r < rows; r++)
		a[r] = &input.a[std::min(row + r, input.m - 1) * input.k];
	for (size_t p = 0; p < input.k; p++) {
		floats left, right;
		memcpy(&left, &panel[p * 2 * width], sizeof(left));
		memcpy(&right, &panel[p * 2 * width + width], sizeof(right));
		for (size_t r = 0; r < rows; r++) {
			sums[r][0] += a[r][p] * left;
			sums[r][1] += a[r][p] * right;
		}
	}
	for (size_t r = 0; r < rows && row + r < input.m; r++)
		memcpy(&output[(row + r) * input.n + column], sums[r], std::min(2 * width, input.n - column) * sizeof(float));
}

static void
blocked_product(const input_t &input, output_t &output)
{
	constexpr size_t rows = 4, columns = 2 * sizeof(floats) / sizeof(float);
	std::vector<float> panel(input.k * columns);
	for (size_t column = 0; column < input.n; column += columns) {
		for (size_t p = 0; p < input.k; p++)
			memcpy(&panel[p * columns], &input.b[p * input.n + column],
				std::min(columns, input.n - column) * sizeof(float));
		for (size_t row = 0; row < input.m; row += rows)
			block_of_product(input, row, column, panel, output);
	}
}
#define TASK_CALIBRATOR blocked_product
