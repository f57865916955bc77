/* SPDX-License-Identifier: MIT */
/* The system call that makes an init. */
#include <config.h>

#include "sandbox/clone.h"

#include <errno.h>
#include <sched.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "sandbox/protections.h"

#ifndef SYS_clone3
#define SYS_clone3 435
#endif
#ifndef CLONE_PIDFD
#define CLONE_PIDFD 0x00001000
#endif
#ifndef CLONE_INTO_CGROUP
#define CLONE_INTO_CGROUP 0x200000000ull
#endif

struct clone_arguments {
	uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls, set_tid, set_tid_size, cgroup;
};

uint64_t
sandbox_clone_flags(unsigned protections)
{
	static const struct {
		unsigned protection;
		uint64_t flag;
	} flags[] = {{SANDBOX_USER, CLONE_NEWUSER}, {SANDBOX_MOUNT, CLONE_NEWNS}, {SANDBOX_PID, CLONE_NEWPID},
		{SANDBOX_NET, CLONE_NEWNET}, {SANDBOX_IPC, CLONE_NEWIPC}, {SANDBOX_UTS, CLONE_NEWUTS},
		{SANDBOX_CGROUPNS, CLONE_NEWCGROUP}};
	uint64_t all = 0;
	for (size_t i = 0; i < ARRAY_SIZE(flags); i++)
		all |= protections & flags[i].protection ? flags[i].flag : 0;
	return all;
}

pid_t
sandbox_clone(uint64_t flags, int cgroup, int *ret_pidfd)
{
	struct clone_arguments args = {
		.flags = flags | (ret_pidfd ? CLONE_PIDFD : 0), .pidfd = (uint64_t)(uintptr_t)ret_pidfd};
	if (cgroup >= 0) {
		args.flags |= CLONE_INTO_CGROUP;
		args.cgroup = (uint64_t)cgroup;
	}
	long pid = syscall(SYS_clone3, &args, sizeof(args));
	if (pid < 0 && errno == ENOSYS && cgroup < 0) /* some containers hide clone3 */
		pid = syscall(SYS_clone, args.flags, NULL, ret_pidfd, NULL, NULL);
	return (pid_t)pid;
}
