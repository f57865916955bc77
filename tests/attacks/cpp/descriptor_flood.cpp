// SPDX-License-Identifier: MIT
// class: Host: descriptor floods
// tries: to use up the open files of the machine.
// expect: passed failed timed_out
// beside: honest
#include "attack.h"

static void attack()
{
	for (int child = 0; child < 60; child++)
		if (fork() == 0) {
			while (open("/dev/null", O_RDONLY) >= 0)
				;
			for (;;)
				pause();
		}
	int opened = 0;
	while (open("/dev/null", O_RDONLY) >= 0)
		opened++;
	if (opened > 100000)
		escaped("%d open files", opened);
	for (int fd = 3; fd < opened + 3; fd++)
		if (fcntl(fd, F_GETFD) == 0)
			close(fd);
}

void custom_kernel(const input_t &input, output_t &output)
{
	static int once = (tried(), attack(), 0);
	(void)once;
	honest(input, output);
}
