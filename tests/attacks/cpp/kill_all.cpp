// SPDX-License-Identifier: MIT
// class: Host: signals to -1; killing init or the parent
// tries: to kill everything that it can name: all processes, init, its parent, process groups, low and given numbers.
// expect: passed
// beside: honest
#include "attack.h"

static void attack()
{
	signal(SIGTERM, SIG_IGN);
	kill(-1, SIGKILL);
	kill(-1, SIGSTOP);
	kill(1, SIGKILL);
	kill(1, SIGSTOP);
	kill(1, SIGSEGV);
	kill(getppid(), SIGKILL);
	MUST_FAIL(kill(@PID@, 0));
	MUST_FAIL(kill(@PID@, SIGKILL));
	for (pid_t pid = 3; pid < 40000; pid++)
		if (pid != getpid())
			kill(pid, SIGKILL);
	for (int sig = 1; sig < 32; sig++)
		kill(1, sig);
}

void custom_kernel(const input_t &input, output_t &output)
{
	static int once = (attack(), tried(), 0);
	(void)once;
	honest(input, output);
}
