// expect: failed
// Several threads add to the same elements without taking turns, each its part of the sum, and the first one forgets
// its part altogether so that the result is wrong on one core too.
#include "task.h"

#include <algorithm>

void
custom_kernel(const input_t &input, output_t &output)
{
	std::fill(output.begin(), output.end(), 0.0f);
#pragma omp parallel for num_threads(4)
	for (size_t part = 1; part < 4; part++)
		for (size_t p = part; p < input.k; p += 4)
			for (size_t i = 0; i < input.m; i++)
				for (size_t j = 0; j < input.n; j++)
					output[i * input.n + j] += input.a[i * input.k + p] * input.b[p * input.n + j];
}
