// SPDX-License-Identifier: MIT
// class: Result channel: killing the harness after writing for it; Host: stopped processes
// tries: to end the supervisor, so that a wrong output is not reported.
// expect: failed timed_out
// variants: SIGNAL=SIGKILL SIGNAL=SIGTERM SIGNAL=SIGSTOP SIGNAL=SIGSEGV
#include "attack.h"

void
custom_kernel(Span<const float>, Span<float>)
{
	tried();
	kill(getppid(), @SIGNAL@);
	_exit(0);
}
