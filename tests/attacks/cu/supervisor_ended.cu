// SPDX-License-Identifier: MIT
// class: Result channel: killing the harness after writing for it; Host: stopped processes
// tries: to be rid of the supervisor, so that nobody says that the output is wrong.
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
