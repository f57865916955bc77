// expect: failed
// Sets its input to zero, so that zero would be right if the check looked at it.
#include "task.h"

#include <algorithm>

void
custom_kernel(const input_t &input, output_t &output)
{
	input_t &mine = const_cast<input_t &>(input);
	std::fill(mine.a.begin(), mine.a.end(), 0.0f);
	std::fill(mine.b.begin(), mine.b.end(), 0.0f);
	std::fill(output.begin(), output.end(), 0.0f);
}
