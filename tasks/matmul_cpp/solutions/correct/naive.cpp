// Three loops, as in the book.
#include "task.h"

void
custom_kernel(const input_t &input, output_t &output)
{
	for (size_t i = 0; i < input.m; i++) {
		for (size_t j = 0; j < input.n; j++) {
			float sum = 0;
			for (size_t p = 0; p < input.k; p++)
				sum += input.a[i * input.k + p] * input.b[p * input.n + j];
			output[i * input.n + j] = sum;
		}
	}
}
