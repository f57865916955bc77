// expect: failed
// Blocks of four by four; what is left at the edges is forgotten.
#include "task.h"

void
custom_kernel(const input_t &input, output_t &output)
{
	for (size_t row = 0; row + 4 <= input.m; row += 4)
		for (size_t column = 0; column + 4 <= input.n; column += 4)
			for (size_t i = row; i < row + 4; i++)
				for (size_t j = column; j < column + 4; j++) {
					float sum = 0;
					for (size_t p = 0; p < input.k; p++)
						sum += input.a[i * input.k + p] * input.b[p * input.n + j];
					output[i * input.n + j] = sum;
				}
}
