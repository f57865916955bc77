// SPDX-License-Identifier: MIT
// class: Host: output floods
// tries: to print without end, where errors go, in lines of nothing but invalid bytes and control characters.
// expect: failed timed_out
// memory: 2500
#include "attack.h"

void custom_kernel(const input_t &, output_t &)
{
	tried();
	static const char bytes[] = "\x1b[2J\x1b]0;title\a\xff\xfe\xc0\x80\xed\xa0\x80\0\r\n";
	for (;;)
		if (write(STDERR_FILENO, bytes, sizeof(bytes)) < 0)
			pause();
}
