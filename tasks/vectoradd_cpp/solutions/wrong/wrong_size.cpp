// expect: failed
// Right values, but more of them than asked for.
#include "task.h"

void
custom_kernel(const input_t &input, output_t &output)
{
	for (size_t i = 0; i < output.size(); i++)
		output[i] = input.a[i] + input.b[i];
	output.push_back(0);
}
