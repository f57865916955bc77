// SPDX-License-Identifier: MIT
// Calibration on a device: a call that takes its time.
#ifndef CALIBRATION_TASK_H
#define CALIBRATION_TASK_H

#include "gpu.h"

// Sets output[i] = i for all of the `size` elements.
void custom_kernel(size_t size, Span<unsigned> output);

#endif
