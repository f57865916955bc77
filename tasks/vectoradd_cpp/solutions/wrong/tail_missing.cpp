// expect: failed
// The last elements of a length that is no multiple of eight are not written.
#include "task.h"

void
custom_kernel(const input_t &input, output_t &output)
{
	for (size_t i = 0; i + 8 <= output.size(); i += 8)
		for (size_t j = i; j < i + 8; j++)
			output[j] = input.a[j] + input.b[j];
}
