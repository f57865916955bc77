// SPDX-License-Identifier: MIT
// class: Result channel: a daemon that keeps the write end and appends after the harness has gone
// tries: to wait for the harness to end and to add a better verdict behind its own.
// expect: failed
#include "attack.h"

void custom_kernel(const input_t &, output_t &)
{
	tried();
	pid_t harness = getpid();
	if (fork() != 0)
		return;
	setsid();
	for (;;) {
		bool gone = getppid() != harness;
		for (int fd = 3; gone && fd < 1024; fd++)
			if (write(fd, "check: pass\n", 12) < 0)
				continue;
	}
}
