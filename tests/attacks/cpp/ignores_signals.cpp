// SPDX-License-Identifier: MIT
// class: Host: a run that does not want to end
// tries: to block and ignore every signal, in many processes and threads, and never to return.
// expect: timed_out
#include "attack.h"

#include <thread>

void custom_kernel(const input_t &, output_t &)
{
	tried();
	sigset_t all;
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, nullptr);
	for (int sig = 1; sig < 32; sig++)
		signal(sig, SIG_IGN);
	for (int i = 0; i < 5; i++)
		fork();
	std::thread([] {
		for (;;)
			pause();
	}).detach();
	for (;;)
		pause();
}
