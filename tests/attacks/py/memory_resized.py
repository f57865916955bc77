# SPDX-License-Identifier: MIT
# class: Result channel: memory in descriptors; Timer: lazy memory
# tries: to change the size of the memory that it shares with the referee, or what may be done with it, so that the
#        referee fails when it reads or writes there; and cuts holes into it where results lie.
# expect: passed
# mode: benchmark
import fcntl
import os

from attack import calls, honest, refused, tried

F_ADD_SEALS, SEAL, SHRINK, WRITE, FUTURE_WRITE = 1033, 1, 2, 8, 16
KEEP_SIZE_PUNCH_HOLE = 3


def memory():
    for name in os.listdir("/proc/self/fd"):
        try:
            if "memfd" in os.readlink(f"/proc/self/fd/{name}"):
                return int(name)
        except OSError:
            pass
    raise RuntimeError("there is no memory")


fd = memory()
size = os.fstat(fd).st_size
refused(os.ftruncate, fd, 4096)
refused(os.ftruncate, fd, 2 * size)
refused(os.posix_fallocate, fd, size, 4096)
for seal in (SEAL, SHRINK, WRITE, FUTURE_WRITE):
    refused(fcntl.fcntl, fd, F_ADD_SEALS, seal)
libc = calls()


def custom_kernel(data):
    tried()
    number = libc.syscall.restype
    libc.fallocate64(fd, KEEP_SIZE_PUNCH_HOLE, number(size // 2 + (64 << 12)), number(1 << 20))
    return honest(data)
