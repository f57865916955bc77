// SPDX-License-Identifier: MIT
// The task of the hostile submissions: double every number.
#ifndef ATTACKS_TASK_H
#define ATTACKS_TASK_H

#include <stddef.h>

#include <vector>

using input_t = std::vector<float>;
using output_t = std::vector<float>;
void custom_kernel(const input_t &input, output_t &output);

#endif
