// SPDX-License-Identifier: MIT
// class: Result channel: a second value for a key
// tries: to be right, but to report times of its own beside those of the harness.
// expect: failed
// mode: ranked
#include "attack.h"

void custom_kernel(const input_t &input, output_t &output)
{
	tried();
	static const char line[] = "benchmark.0.mean: 1\n";
	static bool done = false;
	for (int fd = 3; !done && fd < 1024; fd++)
		if (write(fd, line, sizeof(line) - 1) < 0)
			continue;
	done = true;
	honest(input, output);
}
