// SPDX-License-Identifier: MIT
// class: Host: io_uring and other side doors
// tries: the system calls that have opened kernels and sandboxes before.
// expect: passed
#include "attack.h"

#include <linux/keyctl.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/time.h>
#include <time.h>

static void kernel_features()
{
	char zeros[256] = {};
	struct perf_event_attr perf = {};
	perf.size = sizeof(perf);
	perf.type = PERF_TYPE_SOFTWARE;
	perf.exclude_kernel = 1;
	MUST_FAIL(syscall(425 /* io_uring_setup */, 4, zeros));
	MUST_FAIL(syscall(426 /* io_uring_enter */, 0, 0, 0, 0, nullptr, 0));
	MUST_FAIL(syscall(427 /* io_uring_register */, 0, 0, nullptr, 0));
	MUST_FAIL(syscall(SYS_perf_event_open, &perf, 0, -1, -1, 0));
	MUST_FAIL(syscall(SYS_userfaultfd, 0));
	MUST_FAIL(syscall(SYS_userfaultfd, 1));
	MUST_FAIL(syscall(SYS_bpf, 0, zeros, sizeof(zeros)));
	MUST_FAIL(syscall(SYS_add_key, "user", "planted", "secret", 6, KEY_SPEC_SESSION_KEYRING));
	MUST_FAIL(syscall(SYS_request_key, "user", "planted", nullptr, KEY_SPEC_SESSION_KEYRING));
	MUST_FAIL(syscall(SYS_keyctl, KEYCTL_GET_KEYRING_ID, KEY_SPEC_SESSION_KEYRING, 1));
	MUST_FAIL(syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, "planted"));
	MUST_FAIL(syscall(SYS_fanotify_init, 0, 0));
	MUST_FAIL(syscall(SYS_init_module, zeros, sizeof(zeros), ""));
	MUST_FAIL(syscall(SYS_kexec_load, 0, 0, nullptr, 0));
	MUST_FAIL(syscall(SYS_syslog, 3, zeros, sizeof(zeros)));
	MUST_FAIL(syscall(SYS_acct, nullptr));
	MUST_FAIL(syscall(SYS_quotactl, 0, nullptr, 0, nullptr));
	MUST_FAIL(syscall(SYS_swapon, "/tmp/swap", 0));
	MUST_FAIL(syscall(SYS_reboot, 0xfee1dead, 672274793, 0, nullptr));
#ifdef __x86_64__
	MUST_FAIL(syscall(SYS_iopl, 3));
	MUST_FAIL(syscall(SYS_ioperm, 0, 1, 1));
	MUST_FAIL(syscall(SYS_modify_ldt, 1, zeros, 16));
#endif
	MUST_FAIL(personality(ADDR_NO_RANDOMIZE | READ_IMPLIES_EXEC));
	MUST_FAIL(personality(PER_LINUX32));
}

static void machine_settings()
{
	struct timeval time = {};
	struct timespec clock = {};
	MUST_FAIL(sethostname("planted", 7));
	MUST_FAIL(setdomainname("planted", 7));
	MUST_FAIL(settimeofday(&time, nullptr));
	MUST_FAIL(clock_settime(CLOCK_REALTIME, &clock));
	MUST_FAIL(syscall(SYS_vhangup));
}

static void attack()
{
	kernel_features();
	machine_settings();
}

void custom_kernel(const input_t &input, output_t &output)
{
	static int once = (attack(), tried(), 0);
	(void)once;
	honest(input, output);
}
