// SPDX-License-Identifier: MIT
// class: Host: side doors
// tries: new name spaces, by every call that makes them, and to enter those of init.
// expect: passed
#include "attack.h"

#include <linux/sched.h>
#include <sched.h>

// Stock of linux/sched.h and sched.h differ; the numbers do not.
static const unsigned long spaces[] = {0x10000000 /* user */, 0x00020000 /* mount */, 0x20000000 /* pid */,
	0x40000000 /* net */, 0x08000000 /* ipc */, 0x04000000 /* uts */, 0x02000000 /* cgroup */};

static void attack()
{
	for (unsigned long space : spaces) {
		MUST_FAIL(syscall(SYS_unshare, space));
		MUST_FAIL(syscall(SYS_unshare, space | 0x10000000));
		long pid = syscall(SYS_clone, space | SIGCHLD, 0, 0, 0, 0);
		if (pid == 0)
			_exit(0);
		MUST_FAIL(pid);
		struct clone_args args = {};
		args.flags = space | 0x10000000;
		args.exit_signal = SIGCHLD;
		pid = syscall(SYS_clone3, &args, sizeof(args));
		if (pid == 0)
			_exit(0);
		MUST_FAIL(pid);
	}
	for (const char *name : {"user", "mnt", "pid", "net", "ipc", "uts", "cgroup"}) {
		for (const char *whose : {"1", "self"}) {
			char path[64];
			snprintf(path, sizeof(path), "/proc/%s/ns/%s", whose, name);
			int fd = open(path, O_RDONLY);
			if (fd >= 0)
				MUST_FAIL(syscall(SYS_setns, fd, 0));
		}
	}
}

void custom_kernel(const input_t &input, output_t &output)
{
	static int once = (attack(), tried(), 0);
	(void)once;
	honest(input, output);
}
