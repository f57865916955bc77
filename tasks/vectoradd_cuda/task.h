// SPDX-License-Identifier: MIT
// Vector addition on the device: what a submission gets and gives back.
#ifndef VECTORADD_TASK_H
#define VECTORADD_TASK_H

#include "gpu.h"

// Sets sum[i] = a[i] + b[i] for all i. All three are on the device and of the same length; sum comes full of NaN.
void custom_kernel(Span<const float> a, Span<const float> b, Span<float> sum);

#endif
