// expect: failed
// Reads its neighbour, at the end beyond the vector.
#include "task.h"

void
custom_kernel(const input_t &input, output_t &output)
{
	const float *b = input.b.data();
	for (size_t i = 0; i < output.size(); i++)
		output[i] = input.a[i] + b[i + 1];
}
