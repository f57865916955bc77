// SPDX-License-Identifier: MIT
// class: Host: a daemon that outlives the run
// tries: to leave processes behind that have a session, a group and ignored signals of their own.
// expect: passed
#include "attack.h"

static void attack()
{
	for (int i = 0; i < 8; i++) {
		if (fork() != 0)
			continue;
		setsid();
		if (fork() != 0)
			_exit(0);
		setpgid(0, 0);
		for (int sig = 1; sig < 32; sig++)
			signal(sig, SIG_IGN);
		for (;;)
			usleep(1000);
	}
}

void custom_kernel(const input_t &input, output_t &output)
{
	static int once = (attack(), tried(), 0);
	(void)once;
	honest(input, output);
}
