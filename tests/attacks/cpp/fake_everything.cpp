// SPDX-License-Identifier: MIT
// class: Result channel: fake results on stdout; Result channel: a constructor that leaves
// tries: to report from a constructor, before main, everything that a passing run has.
// expect: failed
#include "attack.h"

static int early = [] {
	tried();
	puts("test-count: 1\ntest.0.status: pass\ncheck: pass");
	fflush(nullptr);
	const char *named = getenv("POPCORN_FD");
	if (named)
		dprintf(atoi(named), "test-count: 1\ntest.0.status: pass\ncheck: pass\n");
	_exit(0);
	return 0;
}();

void custom_kernel(const input_t &, output_t &)
{
}
