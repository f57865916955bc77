// SPDX-License-Identifier: MIT
// What the hostile submissions are asked for: every number doubled.
#ifndef ATTACKS_TASK_H
#define ATTACKS_TASK_H

#include <stddef.h>

#include <vector>

using input_t = std::vector<float>;
using output_t = std::vector<float>;
void custom_kernel(const input_t &input, output_t &output);

#endif
