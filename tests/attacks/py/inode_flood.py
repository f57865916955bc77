# SPDX-License-Identifier: MIT
# class: Host: inode floods
# tries: to make files, links and folders without end.
# expect: passed failed timed_out
import os

from attack import honest, tried


def custom_kernel(data):
    tried()
    for folder in ("out", "/tmp", "/dev/shm"):
        try:
            os.close(os.open(f"{folder}/first", os.O_WRONLY | os.O_CREAT))
            for number in range(300000):
                os.link(f"{folder}/first", f"{folder}/link{number}") if number % 2 else os.mkdir(f"{folder}/{number}")
        except OSError:
            pass
    return honest(data)
