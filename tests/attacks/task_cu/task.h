// SPDX-License-Identifier: MIT
// What the hostile submissions in CUDA are asked for: every number doubled.
#ifndef ATTACKS_TASK_H
#define ATTACKS_TASK_H

#include "gpu.h"

void custom_kernel(Span<const float> input, Span<float> output);

#endif
