// SPDX-License-Identifier: MIT
// class: Timer: patching natively; Host: interposed symbols
// tries: to be the clock: every function that tells the time says that none has passed.
// expect: passed
// mode: ranked
// slower: 0.002
#include "attack.h"

#include <sys/time.h>
#include <time.h>

extern "C" int clock_gettime(clockid_t, struct timespec *time) noexcept
{
	*time = {};
	return 0;
}
extern "C" int gettimeofday(struct timeval *time, void *) noexcept
{
	*time = {};
	return 0;
}
extern "C" time_t time(time_t *) noexcept
{
	return 0;
}

void custom_kernel(const input_t &input, output_t &output)
{
	tried();
	usleep(2000);
	honest(input, output);
}
