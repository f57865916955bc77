/* SPDX-License-Identifier: MIT */
/* System calls that another process decides on. */
#include <config.h>

#include "sandbox/notify.h"

#include <errno.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"

#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1u << 5)
#endif
#define NOTIFY_ROOM 1024 /* the kernel's structures may be larger than those known here */

int
sandbox_notify_install(const struct sock_fprog *program)
{
	/* A call that waits for its answer is not interrupted by signals; without it before 5.19. */
	static const unsigned flags[] = {
		SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV | SECCOMP_FILTER_FLAG_SPEC_ALLOW, SECCOMP_FILTER_FLAG_SPEC_ALLOW, 0};
	long listener = -1;
	for (size_t i = 0; i < ARRAY_SIZE(flags) && listener < 0; i++)
		listener = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER | flags[i], program);
	return (int)listener;
}

void
sandbox_notify_serve(
	int listener, int (*decide)(void *arg, int listener, const struct seccomp_notif *notice), void *arg)
{
	union {
		struct seccomp_notif notice;
		char room[NOTIFY_ROOM];
	} got = {.room = {0}};
	union {
		struct seccomp_notif_resp answer;
		char room[NOTIFY_ROOM];
	} answer = {.room = {0}};
	if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &got) != 0)
		return;
	int error = decide(arg, listener, &got.notice);
	answer.answer.id = got.notice.id;
	answer.answer.error = -error;
	answer.answer.flags = error ? 0 : SECCOMP_USER_NOTIF_FLAG_CONTINUE;
	if (ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer) == 0 || errno != EINVAL)
		return;
	/* Before 5.5 no call can go on. */
	answer.answer.error = -ENOSYS;
	answer.answer.flags = 0;
	(void)ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
}
