// SPDX-License-Identifier: MIT
// class: Result channel: a second value for a key; Correctness: an answer for each of two processes
// tries: to have two harnesses by a fork before main. Where one has ended before the other says anything, all that was said is right.
// expect: failed passed
#include "attack.h"

static int early = (tried(), (void)fork(), 0);

void
custom_kernel(Span<const float> input, Span<float> output)
{
	(void)early;
	honest(input, output);
}
