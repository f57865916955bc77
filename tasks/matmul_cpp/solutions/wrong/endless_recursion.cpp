// expect: failed
// Runs over its stack.
#include "task.h"

static volatile size_t depth;

__attribute__((noinline, optimize("no-optimize-sibling-calls"))) static size_t
deeper(volatile char *above)
{
	volatile char frame[4096];
	frame[0] = *above;
	depth = depth + 1;
	return deeper(frame) + static_cast<size_t>(frame[0]);
}

void
custom_kernel(const input_t &, output_t &output)
{
	volatile char start = 1;
	output[0] = static_cast<float>(deeper(&start));
}
