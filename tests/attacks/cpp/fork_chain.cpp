// SPDX-License-Identifier: MIT
// class: Host: fork bombs
// tries: to be gone before anybody kills it: every process forks the next and exits, each with a session of its own.
// expect: failed timed_out
#include "attack.h"

void custom_kernel(const input_t &, output_t &)
{
	tried();
	for (int i = 0; i < 4; i++)
		if (fork() == 0)
			for (;;) {
				if (fork() > 0)
					_exit(0);
				setsid();
			}
	for (;;)
		pause();
}
