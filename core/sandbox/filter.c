/* SPDX-License-Identifier: MIT */
/* Installs filters of system calls; seccomp.c builds them, in the owner alone. */
#include <config.h>

#include "sandbox/filter.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"

/*
 * For a payload that is bound to cores: sched_setaffinity does nothing, since a filter cannot read the set of cores. It
 * returns success, because the C library makes no thread if binding one fails.
 */
static struct sock_filter bound_code[] = {
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_sched_setaffinity, 0, 1),
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO),
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
};

int
sandbox_filter_enter(const struct sock_fprog *program)
{
	/* Without SPEC_ALLOW, kernels before 5.16 switch speculation off for a process with a filter, which slows it down. */
	if (!syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_SPEC_ALLOW, program))
		return 0;
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, program);
}

int
sandbox_filter_bind(void)
{
	const struct sock_fprog program = {.len = ARRAY_SIZE(bound_code), .filter = bound_code};
	return sandbox_filter_enter(&program);
}
