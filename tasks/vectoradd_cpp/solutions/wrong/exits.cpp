// expect: failed
// Leaves with status 0 before anything was checked.
#include "task.h"

#include <stdlib.h>

void
custom_kernel(const input_t &, output_t &)
{
	exit(0);
}
