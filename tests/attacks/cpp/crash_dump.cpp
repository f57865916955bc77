// SPDX-License-Identifier: MIT
// class: Host: disk floods
// tries: to leave a core dump of all its memory.
// expect: failed
#include "attack.h"

#include <sys/prctl.h>
#include <sys/resource.h>

void custom_kernel(const input_t &, output_t &)
{
	tried();
	struct rlimit all = {RLIM_INFINITY, RLIM_INFINITY};
	setrlimit(RLIMIT_CORE, &all);
	prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
	memset(malloc(200 << 20), 1, 200 << 20);
	if (chdir("/tmp") == 0)
		raise(SIGSEGV);
}
