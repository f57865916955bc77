# SPDX-License-Identifier: MIT
# class: Result channel: replacing or filtering file descriptors of the parent
# tries: to be right with closed outputs, in the process and in what it prints then.
# expect: passed
# mode: benchmark
# variants: FD=1 FD=0 FD=2
import os
import sys

from attack import honest, tried


def custom_kernel(data):
    tried()
    try:
        os.close(@FD@)
    except OSError:
        pass
    try:
        print("a line")
        sys.stdout.flush()
    except OSError:
        pass
    return honest(data)
