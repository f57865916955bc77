// expect: timed_out
// Never returns.
#include "task.h"

void
custom_kernel(const input_t &, output_t &)
{
	for (volatile int forever = 1; forever;)
		;
}
