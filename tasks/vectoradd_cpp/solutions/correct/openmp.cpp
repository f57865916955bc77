// All cores that the board gives: one thread for each.
#include "task.h"

void
custom_kernel(const input_t &input, output_t &output)
{
	const float *a = input.a.data(), *b = input.b.data();
	float *out = output.data();
	size_t size = output.size();
#pragma omp parallel for simd schedule(static) if (size > 16384)
	for (size_t i = 0; i < size; i++)
		out[i] = a[i] + b[i];
}
