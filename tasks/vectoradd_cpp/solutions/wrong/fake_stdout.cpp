// expect: failed
// Prints what a passing run would report, where everybody can print, and leaves.
#include "task.h"

#include <stdio.h>
#include <stdlib.h>

void
custom_kernel(const input_t &, output_t &)
{
	puts("test-count: 1\ntest.0.status: pass\ncheck: pass");
	puts("benchmark-count: 1\nbenchmark.0.status: pass\nbenchmark.0.mean: 1\ncheck: pass");
	exit(0);
}
