// SPDX-License-Identifier: MIT
// class: Host: a run that does not want to end
// tries: to wait without end inside the kernel: in a vfork whose child sleeps, and on a FIFO that no process opens.
// expect: timed_out
#include "attack.h"

void custom_kernel(const input_t &, output_t &)
{
	tried();
	if (fork() == 0) {
		mkfifo("/tmp/fifo", 0600);
		_exit(open("/tmp/fifo", O_RDONLY));
	}
	if (vfork() == 0)
		for (;;)
			pause();
}
