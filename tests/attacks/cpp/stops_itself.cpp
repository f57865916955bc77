// SPDX-License-Identifier: MIT
// class: Host: stopped processes
// tries: to stop the program and a child for ever: neither runs, so neither uses up CPU time.
// expect: timed_out
#include "attack.h"

void custom_kernel(const input_t &, output_t &)
{
	tried();
	if (fork() == 0)
		setsid();
	for (;;)
		raise(SIGSTOP);
}
