/* SPDX-License-Identifier: MIT */
/* Messages with descriptors over a SOCK_SEQPACKET socket. */
#include <config.h>

#include "sandbox/message.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

union message_control {
	struct cmsghdr header;
	char space[CMSG_SPACE(SANDBOX_MESSAGE_FDS * sizeof(int))];
};

int
sandbox_message_send(int socket, const void *data, size_t size, const int *fds, size_t count)
{
	union message_control control = {0};
	struct iovec iov = {(void *)data, size};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
	if (count) {
		msg.msg_control = &control;
		msg.msg_controllen = CMSG_SPACE(count * sizeof(int));
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		control.header.cmsg_len = CMSG_LEN(count * sizeof(int));
		memcpy(CMSG_DATA(&control.header), fds, count * sizeof(int));
	}
	return sendmsg(socket, &msg, MSG_NOSIGNAL) == (ssize_t)size ? 0 : -1;
}

int
sandbox_message_receive(int socket, void *data, size_t size, int flags, int *ret_fds, size_t *count)
{
	union message_control control;
	struct iovec iov = {data, size};
	/* Without the space behind the last descriptor, in which the kernel would put one more. */
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = CMSG_LEN(*count * sizeof(int))};
	ssize_t got;
	do
		got = recvmsg(socket, &msg, flags | MSG_CMSG_CLOEXEC);
	while (got < 0 && errno == EINTR);
	*count = 0;
	if (got <= 0)
		return (int)got;
	const struct cmsghdr *header = CMSG_FIRSTHDR(&msg);
	if (header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS) {
		*count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		memcpy(ret_fds, CMSG_DATA(header), *count * sizeof(int));
	}
	if (got == (ssize_t)size && !(msg.msg_flags & MSG_CTRUNC))
		return 1;
	while (*count > 0) {
		close(ret_fds[--*count]);
		ret_fds[*count] = -1;
	}
	errno = EPROTO;
	return -1;
}
