// SPDX-License-Identifier: MIT
// Matrix multiplication: what a submission gets and gives back.
#ifndef MATMUL_TASK_H
#define MATMUL_TASK_H

#include <stddef.h>

#include <vector>

struct input_t {
	size_t m, n, k;
	std::vector<float> a; // m rows of k
	std::vector<float> b; // k rows of n
};
using output_t = std::vector<float>; // m rows of n; comes with that size, filled with NaN

// Sets output to the product of input.a and input.b.
void custom_kernel(const input_t &input, output_t &output);

#endif
