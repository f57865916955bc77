// SPDX-License-Identifier: MIT
// Calibration: a call that takes its time.
#ifndef CALIBRATION_TASK_H
#define CALIBRATION_TASK_H

#include <stddef.h>
#include <stdint.h>

struct input_t {
	size_t steps;
	uint64_t start;
};
using output_t = uint64_t;

// Sets output to start after `steps` steps of 6364136223846793005 x + 1442695040888963407, modulo 2^64.
void custom_kernel(const input_t &input, output_t &output);

#endif
