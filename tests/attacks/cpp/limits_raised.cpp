// SPDX-License-Identifier: MIT
// class: Host: raising its limits
// tries: to raise what bounds it, for itself and for init, and to make itself more important.
// expect: passed
#include "attack.h"

#include <sched.h>
#include <sys/resource.h>

static void attack()
{
	for (int which = 0; which < RLIM_NLIMITS; which++) {
		struct rlimit limit = {}, none = {RLIM_INFINITY, RLIM_INFINITY};
		getrlimit(static_cast<__rlimit_resource>(which), &limit);
		if (limit.rlim_max != RLIM_INFINITY) {
			MUST_FAIL(setrlimit(static_cast<__rlimit_resource>(which), &none));
			MUST_FAIL(prlimit(0, static_cast<__rlimit_resource>(which), &none, nullptr));
		}
		MUST_FAIL(prlimit(1, static_cast<__rlimit_resource>(which), &none, nullptr));
	}
	struct rlimit core = {};
	getrlimit(RLIMIT_CORE, &core);
	if (core.rlim_max > 1)
		escaped("core dumps are possible");
	struct sched_param param = {};
	param.sched_priority = 1;
	MUST_FAIL(sched_setscheduler(0, SCHED_FIFO, &param));
	MUST_FAIL(sched_setscheduler(0, SCHED_RR, &param));
	errno = 0;
	if (nice(-5) != -1 || errno == 0)
		escaped("nice(-5)");
	MUST_FAIL(setpriority(PRIO_PROCESS, 1, 19));
	MUST_FAIL(syscall(SYS_ioprio_set, 1, 0, 1 << 13));
	if (shell("echo -1000 > /proc/self/oom_score_adj") == 0)
		escaped("oom_score_adj");
}

void custom_kernel(const input_t &input, output_t &output)
{
	static int once = (attack(), tried(), 0);
	(void)once;
	honest(input, output);
}
