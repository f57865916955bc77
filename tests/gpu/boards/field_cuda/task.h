// SPDX-License-Identifier: MIT
// What submission and reference share.
#ifndef TASK_H
#define TASK_H
#include <vector>

using input_t = std::vector<float>;  // size × size pixels of CHANNELS values
using output_t = std::vector<float>; // size × size

output_t custom_kernel(input_t data);

#endif
