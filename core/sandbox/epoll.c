/* SPDX-License-Identifier: MIT */
/* The epoll watches of a run: counted, and refused above a limit. See epoll.h. */
#include <config.h>

#include "sandbox/epoll.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/base.h"
#include "sandbox/notify.h"

#define EPOLL_WATCHES_MAX 65536 /* of a run */
#define EPOLL_WATCHES_PART 16   /* and at most this part of the machine's for one user */
#define EPOLL_ERRNO(number) (SECCOMP_RET_ERRNO | (number))

/* Another architecture's calls are not looked at: the filter of the plan kills a process that makes one. */
static const struct sock_filter counted_code[] = {
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_epoll_ctl, 0, 3),
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[1])),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, EPOLL_CTL_ADD, 0, 1),
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
};
static const struct sock_filter refused_code[] = {
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
#ifdef SYS_epoll_create
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_epoll_create, 1, 0),
#endif
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_epoll_create1, 0, 1),
	BPF_STMT(BPF_RET | BPF_K, EPOLL_ERRNO(ENOSYS)),
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
};

static uint32_t
most_watches(int proc)
{
	char text[32] = "";
	AUTO_FD int fd = openat(proc, "sys/fs/epoll/max_user_watches", O_RDONLY | O_CLOEXEC);
	if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0)
		return EPOLL_WATCHES_MAX;
	unsigned long part = strtoul(text, NULL, 10) / EPOLL_WATCHES_PART;
	return part < EPOLL_WATCHES_MAX ? (uint32_t)part : EPOLL_WATCHES_MAX;
}

int
sandbox_epoll_limit(const struct sandbox_plan *plan, int proc, struct sandbox_epoll *ret_epoll)
{
	const unsigned own = SANDBOX_OWN_UID | SANDBOX_MEMORY_CGROUP;
	const struct sock_fprog counted = {ARRAY_SIZE(counted_code), (struct sock_filter *)counted_code};
	const struct sock_fprog refused = {ARRAY_SIZE(refused_code), (struct sock_filter *)refused_code};
	*ret_epoll = (struct sandbox_epoll){.listener = -1};
	if (!(plan->protections & SANDBOX_SECCOMP) || (plan->protections & own) == own)
		return 0;
	ret_epoll->left = most_watches(proc);
	/* A process has one listener. */
	ret_epoll->listener = plan->record ? -1 : sandbox_notify_install(&counted);
	if (ret_epoll->listener >= 0)
		return 0;
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &refused);
}

static int
count_watch(void *arg, int listener, const struct seccomp_notif *notice)
{
	struct sandbox_epoll *epoll = arg;
	(void)listener;
	(void)notice;
	if (epoll->left == 0)
		return ENOSPC;
	epoll->left--;
	return 0;
}

void
sandbox_epoll_serve(struct sandbox_epoll *epoll)
{
	sandbox_notify_serve(epoll->listener, count_watch, epoll);
}
