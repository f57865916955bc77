// expect: compile
// A missing semicolon: the compiler's message must reach the participant.
#include "task.h"

void
custom_kernel(const input_t &input, output_t &output)
{
	output = input.a
}
