// expect: failed
// Wants more memory than any machine has.
#include "task.h"

void
custom_kernel(const input_t &, output_t &output)
{
	std::vector<float> scratch(size_t{1} << 60);
	output = scratch;
}
