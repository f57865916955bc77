// SPDX-License-Identifier: MIT
// Inputs, the right answer, the check.
#include "task.h"

#include <math.h>

#include <random>
#include <string>

static input_t
generate_input(int seed, int size)
{
	std::mt19937 random(seed);
	std::uniform_real_distribution<float> values(0, 1);
	input_t data(size_t(size) * size * CHANNELS);
	for (float &value : data)
		value = values(random);
	return data;
}

static output_t
ref_kernel(const input_t &data)
{
	output_t gray(data.size() / CHANNELS);
	for (size_t i = 0; i < gray.size(); i++)
		gray[i] = 0.2989f * data[3 * i] + 0.5870f * data[3 * i + 1] + 0.1140f * data[3 * i + 2];
	return gray;
}

static std::string
check_implementation(const input_t &data, const output_t &output)
{
	output_t wanted = ref_kernel(data);
	if (output.size() != wanted.size())
		return "the output has another size";
	for (size_t i = 0; i < wanted.size(); i++)
		if (!(fabsf(output[i] - wanted[i]) < 1e-4f))
			return "mismatch at " + std::to_string(i) + ": " + std::to_string(output[i]) + ", not " +
				   std::to_string(wanted[i]);
	return "";
}
