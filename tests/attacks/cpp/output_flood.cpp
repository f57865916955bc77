// SPDX-License-Identifier: MIT
// class: Host: output floods
// tries: to print without end.
// expect: failed timed_out
// beside: honest
// memory: 2500
#include "attack.h"

void custom_kernel(const input_t &, output_t &)
{
	tried();
	static char block[1 << 16];
	memset(block, 'x', sizeof(block));
	for (;;)
		if (write(STDOUT_FILENO, block, sizeof(block)) < 0)
			pause();
}
