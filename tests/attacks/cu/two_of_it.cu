// SPDX-License-Identifier: MIT
// class: Result channel: a second value for a key; Correctness: an answer for each of two processes
// tries: to have two harnesses, one that is right and one that says so: by starting itself anew with a channel and a supervisor
//        of its own, as what it finds in /proc, or as a program that kettle-host starts.
// expect: failed
// variants: HOW=1 HOW=2
#include "attack.h"

static void
anew()
{
	if (getenv("AGAIN"))
		return;
	int ends[2];
	char number[20];
	if (pipe(ends) != 0)
		return;
	snprintf(number, sizeof(number), "%d", ends[1]);
	setenv("AGAIN", "1", 1);
	setenv("POPCORN_FD", number, 1);
	setenv("POPCORN_SEED", "1", 1);
	if (@HOW@ == 2)
		execl("/proc/self/exe", "kettle-host", "--channel", "POPCORN_FD", "--secret", "POPCORN_SEED", "./program", "test",
			"cases.txt", nullptr);
	execl("/proc/self/exe", "program", "test", "cases.txt", nullptr);
}

static int early = (tried(), anew(), 0);

void
custom_kernel(Span<const float> input, Span<float> output)
{
	(void)early;
	honest(input, output);
}
