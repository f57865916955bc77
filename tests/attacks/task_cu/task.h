// SPDX-License-Identifier: MIT
// The task of the hostile submissions in CUDA: double every number.
#ifndef ATTACKS_TASK_H
#define ATTACKS_TASK_H

#include "gpu.h"

void custom_kernel(Span<const float> input, Span<float> output);

#endif
