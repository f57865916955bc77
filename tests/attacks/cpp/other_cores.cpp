// SPDX-License-Identifier: MIT
// class: Host: changes of affinity off its core
// tries: to run on cores that the device does not have. Setting the affinity within them is allowed.
// expect: passed
#include "attack.h"

#include <sched.h>

static void attack()
{
	cpu_set_t given, all, now;
	sched_getaffinity(0, sizeof(given), &given);
	CPU_ZERO(&all);
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		CPU_SET(cpu, &all);
	sched_setaffinity(0, sizeof(all), &all);
	sched_setaffinity(1, sizeof(all), &all);
	sched_getaffinity(0, sizeof(now), &now);
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &now) && !CPU_ISSET(cpu, &given))
			escaped("may run on core %d", cpu);
	for (int cpu = 0; cpu < 64; cpu++) {
		cpu_set_t one;
		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		if (sched_setaffinity(0, sizeof(one), &one) == 0 && sched_yield() == 0 && sched_getcpu() == cpu &&
			!CPU_ISSET(cpu, &given))
			escaped("runs on core %d", cpu);
	}
	sched_setaffinity(0, sizeof(given), &given);
}

void custom_kernel(const input_t &input, output_t &output)
{
	static int once = (attack(), tried(), 0);
	(void)once;
	honest(input, output);
}
