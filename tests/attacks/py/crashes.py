# SPDX-License-Identifier: MIT
# class: Host: a crash; Result channel: leaving early
# tries: to crash the process of the submission, another way each time, with all its memory as a core dump.
# expect: failed
# variants: HOW=0 HOW=1 HOW=2 HOW=3 HOW=4 HOW=5
import ctypes
import os
import resource
import signal
import sys

from attack import tried


def deep(number):
    return [deep(number + 1)] if number else deep(1)


def custom_kernel(data):
    tried()
    try:
        resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY,) * 2)
    except (OSError, ValueError):
        pass
    if @HOW@ == 0:
        ctypes.string_at(0)
    if @HOW@ == 1:
        os.abort()
    if @HOW@ == 2:
        sys.setrecursionlimit(1 << 30)
        deep(1)
    if @HOW@ == 3:
        ctypes.memset(id(None), 0, 4096)
        return None
    if @HOW@ == 4:
        os.kill(os.getpid(), signal.SIGSYS)
    ctypes.CDLL(None).free(ctypes.c_void_p(4096))
    ctypes.CDLL(None).syscall(1 << 30)
    os.kill(os.getpid(), signal.SIGXCPU)
