// expect: failed
// Writes to address 0.
#include "task.h"

void
custom_kernel(const input_t &, output_t &)
{
	volatile int *nowhere = nullptr;
	*nowhere = 1;
}
