// SPDX-License-Identifier: MIT
// class: Result channel: replacing file descriptors
// tries: to close everything, the result channel with it, and to leave well.
// expect: failed
#include "attack.h"

void custom_kernel(const input_t &, output_t &)
{
	tried();
	for (int fd = 0; fd < 1024; fd++)
		close(fd);
}
