#include "task.h"

void
custom_kernel(const input_t &input, output_t &output)
{
	output = input.start;
	for (size_t i = 0; i < input.steps; i++)
		output = output * 6364136223846793005u + 1442695040888963407u;
}
