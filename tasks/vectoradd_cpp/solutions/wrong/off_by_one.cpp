// expect: failed
// One element short, whatever the length.
#include "task.h"

void
custom_kernel(const input_t &input, output_t &output)
{
	for (size_t i = 0; i + 1 < output.size(); i++)
		output[i] = input.a[i] + input.b[i];
}
