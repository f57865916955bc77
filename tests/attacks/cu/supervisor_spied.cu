// SPDX-License-Identifier: MIT
// class: Correctness: reading the secret seed in /proc; Result channel: reopening the harness's descriptor through /proc/PPID/fd
// tries: to look into the supervisor, which holds seed and channel, and to take its descriptors, before main and during
//        the call.
// expect: passed
#include "attack.h"

#include <sys/ptrace.h>
#include <sys/uio.h>

static void
spy()
{
	int above = getppid();
	char path[100], byte;
	for (const char *name :
		{"mem", "environ", "maps", "fd", "fdinfo", "stack", "syscall", "auxv", "map_files", "exe", "cwd"}) {
		snprintf(path, sizeof(path), "/proc/%d/%s", above, name);
		int fd = open(path, O_RDONLY);
		if (fd >= 0 && (read(fd, &byte, 1) > 0 || errno == EISDIR))
			escaped("%s can be read", path);
		if (fd >= 0)
			close(fd);
	}
	for (int fd = 0; fd < 1100; fd++) {
		snprintf(path, sizeof(path), "/proc/%d/fd/%d", above, fd);
		MUST_FAIL(open(path, O_RDWR));
	}
	struct iovec own = {&byte, 1}, theirs = {path, 1};
	MUST_FAIL(ptrace(PTRACE_SEIZE, above, nullptr, nullptr));
	MUST_FAIL(ptrace(PTRACE_ATTACH, above, nullptr, nullptr));
	MUST_FAIL(syscall(SYS_process_vm_readv, above, &own, 1, &theirs, 1, 0));
	int pidfd = static_cast<int>(syscall(434 /* pidfd_open */, above, 0));
	for (int fd = 0; pidfd >= 0 && fd < 1100; fd++)
		MUST_FAIL(syscall(438 /* pidfd_getfd */, pidfd, fd, 0));
}

static int early = (spy(), tried(), 0);

void
custom_kernel(Span<const float> input, Span<float> output)
{
	(void)early;
	spy();
	honest(input, output);
}
