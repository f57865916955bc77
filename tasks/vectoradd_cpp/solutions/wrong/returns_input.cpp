// expect: failed
// Gives back one of the inputs.
#include "task.h"

void
custom_kernel(const input_t &input, output_t &output)
{
	output = input.a;
}
