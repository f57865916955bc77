# SPDX-License-Identifier: MIT
# class: Host: descriptors of the parent; Result channel: replacing file descriptors of the parent
# tries: to use what was left open for it: folders outside, sockets, pipes of others, the device's lock.
# expect: passed
import os
import stat

from attack import escaped, honest as custom_kernel, tried

SHARED = "/memfd:kettle"  # with the referee
SOCKETS_OF_ITS_OWN = 1  # for requests and answers; its standard error it has twice, for tracebacks
PIPES_OF_ITS_OWN = 2  # by which it is called

tried()
sockets, pipes, output = 0, 0, os.fstat(2).st_ino
for name in os.listdir("/proc/self/fd"):
    fd = int(name)
    try:
        what, mode = os.readlink(f"/proc/self/fd/{fd}"), os.fstat(fd).st_mode
    except OSError:
        continue
    if fd < 3 or what.startswith("/proc/"):
        continue
    sockets += stat.S_ISSOCK(mode)
    piped = stat.S_ISFIFO(mode) and os.fstat(fd).st_ino != output
    pipes += piped
    if not stat.S_ISSOCK(mode) and not piped and os.fstat(fd).st_ino != output and not what.startswith(SHARED):
        escaped(f"descriptor {fd} is {what}")
    if stat.S_ISDIR(mode):
        escaped(f"it leads to {os.listdir(fd)}")
if sockets > SOCKETS_OF_ITS_OWN or pipes > PIPES_OF_ITS_OWN:
    escaped(f"it has {sockets} sockets and {pipes} pipes")
