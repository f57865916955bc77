// SPDX-License-Identifier: MIT
// class: Reports: leaving out the keys that a check needs
// tries: to be right, but to make the harness's next line one of another key: half a line before it, on every descriptor.
// expect: failed
#include "attack.h"

void custom_kernel(const input_t &input, output_t &output)
{
	static bool done = false;
	tried();
	for (int fd = 3; !done && fd < 1024; fd++)
		if (write(fd, "x", 1) < 0)
			continue;
	done = true;
	honest(input, output);
}
