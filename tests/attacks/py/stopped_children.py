# SPDX-License-Identifier: MIT
# class: Host: stopped processes; a daemon that outlives the run, holding a pipe past the timeout
# tries: to leave children behind, stopped ones, ones that hold all outputs and go on printing, with all signals ignored.
# expect: passed
# within: 20
import os
import signal
import time

from attack import honest, tried


def leave(number):
    os.setsid()
    signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 32))
    if number % 2:
        os.kill(os.getpid(), signal.SIGSTOP)
    while True:
        time.sleep(0.01)
        os.write(1, b"still here\n")


def custom_kernel(data):
    if not hasattr(os, "left"):
        os.left = True
        tried()
        for number in range(6):
            if os.fork() == 0:
                leave(number)
    return honest(data)
