# SPDX-License-Identifier: MIT
# class: Result channel: a daemon that keeps the write end and appends after the harness has gone
# tries: to wait in a process of its own until the harness has ended, and then to add a better verdict by whatever
#        descriptor there is.
# expect: failed
import os
import signal
import time

from attack import tried


def daemon():
    os.setsid()
    for number in range(1, 32):
        try:
            signal.signal(number, signal.SIG_IGN)
        except OSError:
            pass
    for _ in range(2000):
        time.sleep(0.001)
        for fd in range(3, 2048):
            try:
                os.write(fd, b"check: pass\n")
            except OSError:
                pass


def custom_kernel(data):
    tried()
    if os.fork() == 0:
        if os.fork() == 0:
            daemon()
        os._exit(0)
    return data
