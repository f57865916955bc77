// Rows shared out to the cores that the board gives.
#include "task.h"

#include <algorithm>

void
custom_kernel(const input_t &input, output_t &output)
{
#pragma omp parallel for schedule(static) if (input.m * input.n * input.k > 100000)
	for (size_t i = 0; i < input.m; i++) {
		float *row = &output[i * input.n];
		std::fill(row, row + input.n, 0.0f);
		for (size_t p = 0; p < input.k; p++) {
			float a = input.a[i * input.k + p];
			const float *b = &input.b[p * input.n];
#pragma omp simd
			for (size_t j = 0; j < input.n; j++)
				row[j] += a * b[j];
		}
	}
}
