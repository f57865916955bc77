// expect: failed
// Rounds its inputs to ten bits of mantissa, as half precision and the tensor cores' formats do.
#include "task.h"

#include <stdint.h>
#include <string.h>

static float
rounded(float value)
{
	uint32_t bits;
	memcpy(&bits, &value, sizeof(bits));
	bits = (bits + 0x1000u) & ~0x1fffu;
	memcpy(&value, &bits, sizeof(bits));
	return value;
}

void
custom_kernel(const input_t &input, output_t &output)
{
	for (size_t i = 0; i < input.m; i++)
		for (size_t j = 0; j < input.n; j++) {
			float sum = 0;
			for (size_t p = 0; p < input.k; p++)
				sum += rounded(input.a[i * input.k + p]) * rounded(input.b[p * input.n + j]);
			output[i * input.n + j] = sum;
		}
}
