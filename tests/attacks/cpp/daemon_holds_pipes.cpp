// SPDX-License-Identifier: MIT
// class: Host: a daemon that outlives the run, holding a pipe past the timeout
// tries: to keep standard output, standard error and the result channel open after the harness has ended, and to go on
//        printing, so that a reader that waits for their end never gets it.
// expect: passed
// within: 15
#include "attack.h"

static void attack()
{
	if (fork() != 0)
		return;
	setsid();
	if (fork() != 0)
		_exit(0);
	for (;;) {
		if (write(STDOUT_FILENO, "still here\n", 11) < 0 || write(STDERR_FILENO, "still here\n", 11) < 0)
			usleep(1000);
		usleep(1000);
	}
}

void custom_kernel(const input_t &input, output_t &output)
{
	static int once = (attack(), tried(), 0);
	(void)once;
	honest(input, output);
}
