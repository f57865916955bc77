// SPDX-License-Identifier: MIT
// class: Host: static constructors
// tries: never to reach main.
// expect: timed_out
#include "attack.h"

static int early = [] {
	tried();
	for (volatile int forever = 1; forever;)
		;
	return 0;
}();

void custom_kernel(const input_t &, output_t &)
{
}
