// SPDX-License-Identifier: MIT
// class: Host: descriptors of the parent; Result channel: replacing file descriptors of the parent
// tries: to use what was left open for it: folders outside, sockets, memory, the device's lock.
// expect: passed
#include "attack.h"

#include <sys/socket.h>
#include <sys/un.h>

static void attack()
{
	int open_ones = 0;
	for (int fd = 3; fd < 1024; fd++) {
		struct stat st;
		if (fstat(fd, &st) != 0)
			continue;
		open_ones++;
		if (S_ISDIR(st.st_mode) || S_ISCHR(st.st_mode) || S_ISBLK(st.st_mode))
			escaped("descriptor %d is a folder or device", fd);
		if (S_ISREG(st.st_mode))
			escaped("descriptor %d is a file", fd);
		if (openat(fd, "..", O_RDONLY) >= 0)
			escaped("descriptor %d leads out", fd);
	}
	if (open_ones > 1)
		escaped("%d descriptors are open, not the channel alone", open_ones);
}

void custom_kernel(const input_t &input, output_t &output)
{
	static int once = (attack(), tried(), 0);
	(void)once;
	honest(input, output);
}
