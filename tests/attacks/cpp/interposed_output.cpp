// SPDX-License-Identifier: MIT
// class: Result channel: replacing functions; Host: interposed symbols
// tries: to be write, writev and exit: results are turned into better ones on their way, failures into success.
// expect: failed
#include "attack.h"

#include <sys/uio.h>

extern "C" ssize_t write(int fd, const void *data, size_t size)
{
	return syscall(SYS_write, fd, memmem(data, size, "fail", 4) ? "check: pass\n" : data, size);
}
extern "C" ssize_t writev(int, const struct iovec *, int)
{
	return 0;
}
extern "C" void exit(int)
{
	_Exit(0);
}
void custom_kernel(const input_t &, output_t &)
{
	tried();
}
