// SPDX-License-Identifier: MIT
// The older form of a task, a single file, for CUDA: numbers below zero become zero.
//
// `kettle leaderboard create relu_cuda --task relu.cuh` makes a board of it; submissions define custom_kernel(input_t).
#include <stdlib.h>

#include <vector>

using input_t = std::vector<float>; // on the host: a submission copies it to the device, and its result back
using output_t = std::vector<float>;

constexpr size_t SIZE = 200000;

static inline input_t
generate_input()
{
	input_t data(SIZE);
	for (float &value : data)
		value = 2.0f * static_cast<float>(rand()) / static_cast<float>(RAND_MAX) - 1.0f;
	return data;
}

static inline output_t
ref_kernel(input_t data)
{
	for (float &value : data)
		value = value > 0 ? value : 0;
	return data;
}

static inline bool
check_implementation(output_t user, output_t reference)
{
	return user == reference;
}
