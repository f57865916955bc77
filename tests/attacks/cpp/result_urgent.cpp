// SPDX-License-Identifier: MIT
// class: Result channel: bytes out of order
// tries: to take bytes out of the harness's lines: urgent bytes by every call that sends, on every descriptor; then it is wrong.
// expect: failed
#include "attack.h"

#include <sys/socket.h>

void custom_kernel(const input_t &, output_t &)
{
	tried();
	char bytes[] = "xy";
	struct iovec part = {bytes, 2};
	struct mmsghdr message = {};
	message.msg_hdr.msg_iov = &part;
	message.msg_hdr.msg_iovlen = 1;
	for (int fd = 3; fd < 1100; fd++) {
		MUST_FAIL(send(fd, bytes, 2, MSG_OOB | MSG_DONTWAIT | MSG_NOSIGNAL));
		MUST_FAIL(sendmsg(fd, &message.msg_hdr, MSG_OOB | MSG_DONTWAIT));
		MUST_FAIL(sendmmsg(fd, &message, 1, MSG_OOB | MSG_DONTWAIT));
	}
}
