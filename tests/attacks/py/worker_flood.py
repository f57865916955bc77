# SPDX-License-Identifier: MIT
# class: Result channel: filling the pipe so that the runner stalls
# tries: to answer without end, and never a whole line.
# expect: failed
# alone: yes
import os

from attack import tried


def custom_kernel(data):
    tried()
    fds = [int(name) for name in os.listdir("/proc/self/fd") if int(name) > 2]
    while fds:
        for fd in list(fds):
            try:
                os.write(fd, b"x" * 65536)
            except OSError:
                fds.remove(fd)
    return data
