# SPDX-License-Identifier: MIT
# class: Host: fork bombs
# tries: to fill the process table.
# expect: failed timed_out
# alone: yes
import os

from attack import tried


def custom_kernel(data):
    tried()
    while True:
        try:
            os.fork()
        except OSError:
            pass
