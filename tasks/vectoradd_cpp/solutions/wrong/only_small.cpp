// expect: failed
// Right for every test, wrong for the sizes that are timed: being quick must not pay.
#include "task.h"

void
custom_kernel(const input_t &input, output_t &output)
{
	size_t size = output.size() > 500000 ? output.size() / 2 : output.size();
	for (size_t i = 0; i < size; i++)
		output[i] = input.a[i] + input.b[i];
}
