// One loop; the compiler makes vector instructions of it.
#include "task.h"

void
custom_kernel(const input_t &input, output_t &output)
{
	for (size_t i = 0; i < output.size(); i++)
		output[i] = input.a[i] + input.b[i];
}
