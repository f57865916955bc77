// SPDX-License-Identifier: MIT
// class: Result channel: a daemon that keeps the write end and appends after the harness has gone; Host: a daemon
// tries: to outlive main with all its descriptors, to hold up the supervisor, and to speak when main has said its last word.
// expect: passed failed
#include "attack.h"

#include <sys/socket.h>

static void
stay()
{
	pid_t harness = getpid();
	if (fork() != 0)
		return;
	setsid();
	sigset_t all;
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, nullptr);
	while (getppid() == harness)
		usleep(1000);
	for (;;) {
		for (int fd = 3; fd < 1100; fd++)
			send(fd, "check: pass\n", 12, MSG_NOSIGNAL | MSG_DONTWAIT);
		usleep(1000);
	}
}

void
custom_kernel(Span<const float> input, Span<float> output)
{
	static int once = (tried(), stay(), 0);
	(void)once;
	honest(input, output);
}
