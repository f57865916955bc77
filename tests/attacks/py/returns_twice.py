# SPDX-License-Identifier: MIT
# class: Result channel: a second value for a key; Correctness: an answer for each of two processes
# tries: to return in two processes, once right and once wrong, so that the first answer counts.
# expect: failed
# mode: benchmark
import os

from attack import honest, tried


def custom_kernel(data):
    tried()
    return honest(data) if os.fork() == 0 else [0]
