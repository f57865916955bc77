// expect: failed
// Does nothing right, and turns every orderly end into status 0.
#include "task.h"

#include <stdlib.h>
#include <unistd.h>

static void
leave_well()
{
	_exit(0);
}

void
custom_kernel(const input_t &, output_t &)
{
	static int registered = atexit(leave_well);
	(void)registered;
}
