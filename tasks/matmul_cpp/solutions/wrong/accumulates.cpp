// expect: failed
// Adds to what the output holds, which is not zero.
#include "task.h"

void
custom_kernel(const input_t &input, output_t &output)
{
	for (size_t i = 0; i < input.m; i++)
		for (size_t j = 0; j < input.n; j++)
			for (size_t p = 0; p < input.k; p++)
				output[i * input.n + j] += input.a[i * input.k + p] * input.b[p * input.n + j];
}
