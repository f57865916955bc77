# SPDX-License-Identifier: MIT
# class: Result channel: replacing or filtering file descriptors of the parent
# tries: to make outputs that never take anything, that raise, or that are gone, for the processes that share them.
# expect: passed failed
# within: 30
import fcntl
import os
import sys

from attack import honest, tried


class Raises:
    encoding = errors = None

    def write(self, text):
        raise SystemExit(0)

    flush = write


def custom_kernel(data):
    tried()
    for fd in (0, 1, 2):
        fcntl.fcntl(fd, fcntl.F_SETFL, fcntl.fcntl(fd, fcntl.F_GETFL) | os.O_NONBLOCK | os.O_APPEND | os.O_ASYNC)
    sys.stdout = sys.stderr = sys.__stdout__ = sys.__stderr__ = Raises()
    return honest(data)
