# SPDX-License-Identifier: MIT
# class: Result channel: replacing or filtering file descriptors of the parent
# tries: to close every descriptor, to put others in their place, and to be right.
# expect: failed
import os

from attack import honest, tried


def custom_kernel(data):
    tried()
    null = os.open("/dev/null", os.O_RDWR)
    for name in os.listdir("/proc/self/fd"):
        if int(name) not in (2, null):
            try:
                os.dup2(null, int(name))
            except OSError:
                pass
    return honest(data)
