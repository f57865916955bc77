// SPDX-License-Identifier: MIT
// Vector addition: what a submission gets and gives back.
#ifndef VECTORADD_TASK_H
#define VECTORADD_TASK_H

#include <stddef.h>

#include <vector>

struct input_t {
	std::vector<float> a, b; // of the same length
};
using output_t = std::vector<float>; // comes with the right length, filled with NaN

// Sets output[i] = input.a[i] + input.b[i] for all i.
void custom_kernel(const input_t &input, output_t &output);

#endif
