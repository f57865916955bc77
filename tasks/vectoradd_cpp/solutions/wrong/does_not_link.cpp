// expect: compile
// Compiles, but custom_kernel has another signature, so the program cannot be linked.
#include "task.h"

void
custom_kernel(input_t &input, output_t &output)
{
	output = input.a;
}
