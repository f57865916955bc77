// SPDX-License-Identifier: MIT
// class: Host: memory floods
// tries: memory that belongs to no process's own: files in memory that are written, not mapped.
// expect: passed failed timed_out
// memory: 3500
#include "attack.h"

#include <sys/mman.h>

static void attack()
{
	static char block[1 << 20];
	memset(block, 1, sizeof(block));
	for (int file = 0; file < 40; file++) {
		int fd = static_cast<int>(syscall(SYS_memfd_create, "hidden", 0));
		for (int i = 0; fd >= 0 && i < 128; i++)
			if (write(fd, block, sizeof(block)) < 0)
				break;
	}
}

void custom_kernel(const input_t &input, output_t &output)
{
	static int once = (tried(), attack(), 0);
	(void)once;
	honest(input, output);
}
