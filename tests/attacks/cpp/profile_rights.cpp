// SPDX-License-Identifier: MIT
// class: Host: what a profiler may and others may not
// tries: in a profile, to count what whole cores, init and the machine do, and the doors that stay shut there as well.
// expect: passed
// mode: profile
// within: 60
#include "attack.h"

#include <linux/perf_event.h>
#include <sys/ptrace.h>
#include <sys/uio.h>

#ifndef PERF_FLAG_PID_CGROUP
#define PERF_FLAG_PID_CGROUP 4
#endif

static long count(int pid, int cpu, unsigned long flags)
{
	struct perf_event_attr perf = {};
	perf.size = sizeof(perf);
	perf.type = PERF_TYPE_SOFTWARE;
	perf.exclude_kernel = 1;
	return syscall(SYS_perf_event_open, &perf, pid, cpu, -1, flags);
}

static void attack()
{
	char byte = 0;
	struct iovec vector = {&byte, 1};
	MUST_FAIL(count(-1, 0, 0));
	MUST_FAIL(count(-1, 1, 0));
	MUST_FAIL(count(1, -1, 0));
	MUST_FAIL(count(0, 0, PERF_FLAG_PID_CGROUP));
	MUST_FAIL(ptrace(PTRACE_SEIZE, getppid(), nullptr, nullptr));
	MUST_FAIL(ptrace(PTRACE_TRACEME, 0, nullptr, nullptr));
	MUST_FAIL(syscall(SYS_process_vm_readv, getppid(), &vector, 1, &vector, 1, 0));
	MUST_FAIL(syscall(SYS_bpf, 0, &byte, 1));
	MUST_FAIL(syscall(425 /* io_uring_setup */, 4, &byte));
}

void custom_kernel(const input_t &input, output_t &output)
{
	static int once = (attack(), tried(), 0);
	(void)once;
	honest(input, output);
}
