// SPDX-License-Identifier: MIT
// class: Host: fork bombs
// tries: to fill the process table.
// expect: failed timed_out
// beside: honest
#include "attack.h"

void custom_kernel(const input_t &, output_t &)
{
	tried();
	for (;;)
		fork();
}
