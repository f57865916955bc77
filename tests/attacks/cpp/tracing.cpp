// SPDX-License-Identifier: MIT
// class: Host: ptrace, memory of other processes
// tries: to trace, read and write init, its parent and its own children, and to take their descriptors.
// expect: passed
#include "attack.h"

#include <sys/ptrace.h>
#include <sys/uio.h>

static void against(pid_t pid)
{
	char byte = 0;
	struct iovec mine = {&byte, 1}, theirs = {reinterpret_cast<void *>(0x400000), 1};
	MUST_FAIL(ptrace(PTRACE_ATTACH, pid, nullptr, nullptr));
	MUST_FAIL(ptrace(PTRACE_SEIZE, pid, nullptr, nullptr));
	MUST_FAIL(process_vm_readv(pid, &mine, 1, &theirs, 1, 0));
	MUST_FAIL(process_vm_writev(pid, &mine, 1, &theirs, 1, 0));
	MUST_FAIL(syscall(SYS_kcmp, pid, getpid(), 0, 0, 0));
	int pidfd = static_cast<int>(syscall(434 /* pidfd_open */, pid, 0));
	if (pidfd >= 0) {
		for (int fd = 0; fd < 16; fd++)
			MUST_FAIL(syscall(438 /* pidfd_getfd */, pidfd, fd, 0));
		close(pidfd);
	}
	for (const char *what : {"mem", "environ", "maps", "auxv", "fd", "fd/0", "fd/3", "root", "cwd", "exe", "syscall", "stack"}) {
		char path[64], link[16];
		snprintf(path, sizeof(path), "/proc/%d/%s", pid, what);
		int fd = open(path, O_RDONLY);
		if (fd >= 0 && read(fd, &byte, 1) > 0)
			escaped("%s can be read", path);
		MUST_FAIL(readlink(path, link, sizeof(link)));
		if (fd >= 0)
			close(fd);
	}
}

static void attack()
{
	MUST_FAIL(ptrace(PTRACE_TRACEME, 0, nullptr, nullptr));
	against(1);
	if (getppid() > 1)
		against(getppid());
}

void custom_kernel(const input_t &input, output_t &output)
{
	static int once = (attack(), tried(), 0);
	(void)once;
	honest(input, output);
}
