// expect: failed
// Right for square matrices, and uses m for every dimension.
#include "task.h"

void
custom_kernel(const input_t &input, output_t &output)
{
	size_t size = input.m;
	for (size_t i = 0; i < size; i++)
		for (size_t j = 0; j < size && i * size + j < output.size(); j++) {
			float sum = 0;
			for (size_t p = 0; p < size && p * size + j < input.b.size() && i * size + p < input.a.size(); p++)
				sum += input.a[i * size + p] * input.b[p * size + j];
			output[i * size + j] = sum;
		}
}
