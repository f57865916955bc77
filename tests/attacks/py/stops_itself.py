# SPDX-License-Identifier: MIT
# class: Host: stopped processes
# tries: to stop itself for ever, so that it uses no time.
# expect: timed_out
import os
import signal

from attack import tried


def custom_kernel(data):
    tried()
    os.kill(os.getpid(), signal.SIGSTOP)
