// SPDX-License-Identifier: MIT
// class: Host: floods of resources that exist once in a machine, or that count for the user who runs Kettle
// tries: to use up instances of inotify, asynchronous I/O and huge pages for everybody, to have the disks of the machine
//        flushed while others are timed, and to have the machine take a dump of each of its crashes.
// expect: passed
// needs: seccomp
#include "attack.h"

#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/shm.h>

static void counted()
{
	int watchers = 0;
	while (watchers < 1000 && inotify_init1(0) >= 0)
		watchers++;
	if (watchers > 100) // root has 128 on most machines
		escaped("%d instances of inotify", watchers);
	void *context = nullptr;
	MUST_FAIL(syscall(SYS_io_setup, 60000, &context));
	for (int flags : {MAP_PRIVATE, MAP_SHARED})
		if (mmap(nullptr, 2 << 20, PROT_READ, flags | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0) != MAP_FAILED || errno != EPERM)
			escaped("a huge page was requested");
	if (memfd_create("huge", MFD_HUGETLB) >= 0)
		escaped("a file of huge pages");
	if (shmget(IPC_PRIVATE, 2 << 20, SHM_HUGETLB | 0600) >= 0 || errno != EPERM)
		escaped("a segment of huge pages was requested");
}

// Of a descriptor that there is not, so that only the sandbox can have said yes.
static void flushed()
{
	if (syscall(SYS_fsync, -1) != 0 || syscall(SYS_fdatasync, -1) != 0 || syscall(SYS_syncfs, -1) != 0)
		escaped("a file of the machine can be flushed");
	if (syscall(SYS_sync_file_range, -1, 0L, 0L, 0) != 0 || syscall(SYS_msync, 4096L, 4096L, MS_SYNC) != 0)
		escaped("a part of a file of the machine can be flushed");
	sync();
}

static void dumped()
{
	struct rlimit none = {0, 0}, *low = static_cast<struct rlimit *>(mmap(reinterpret_cast<void *>(1ul << 32), 4096,
		PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0));
	MUST_FAIL(prlimit(0, RLIMIT_CORE, &none, nullptr));
	MUST_FAIL(syscall(SYS_setrlimit, RLIMIT_CORE, &none));
	MUST_FAIL(low == MAP_FAILED ? -1 : prlimit(0, RLIMIT_CORE, low, nullptr));
}

void custom_kernel(const input_t &input, output_t &output)
{
	static int once = (tried(), counted(), flushed(), dumped(), 0);
	(void)once;
	honest(input, output);
}
