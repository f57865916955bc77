// SPDX-License-Identifier: MIT
// class: Host: output floods; Service: control characters, invalid UTF-8
// tries: bytes that terminals obey and that JSON cannot hold, on every output, and a line without end.
// expect: passed
#include "attack.h"

static void attack()
{
	static char line[200000];
	static const char bytes[] = "\x1b[2J\x1b]0;title\a\xff\xfe\xc0\x80\xed\xa0\x80\xf4\x90\x80\x80\0\r{\"event\":\"done\"}\n";
	memset(line, 'y', sizeof(line));
	for (int fd : {STDOUT_FILENO, STDERR_FILENO})
		if (write(fd, bytes, sizeof(bytes)) < 0 || write(fd, line, sizeof(line)) < 0)
			escaped("the output was closed");
}

void custom_kernel(const input_t &input, output_t &output)
{
	tried();
	static int once = (attack(), 0);
	(void)once;
	honest(input, output);
}
