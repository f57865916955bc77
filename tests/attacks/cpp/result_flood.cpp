// SPDX-License-Identifier: MIT
// class: Result channel: filling the pipe so that the runner stalls
// tries: to write results without end to every descriptor that takes them.
// expect: failed timed_out
// memory: 2500
#include "attack.h"

void custom_kernel(const input_t &, output_t &)
{
	tried();
	static char line[4096];
	memset(line, 'x', sizeof(line));
	memcpy(line, "key: ", 5);
	line[sizeof(line) - 1] = '\n';
	for (;;)
		for (int fd = 3; fd < 1024; fd++)
			if (write(fd, line, sizeof(line)) < 0)
				continue;
}
