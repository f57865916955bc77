# SPDX-License-Identifier: MIT
# class: Host: output floods; Service: megabyte lines
# tries: to print without end, lines without end, on both outputs, and to go on after the reader has stopped.
# expect: failed timed_out
# alone: yes
import os

from attack import tried


def custom_kernel(data):
    tried()
    piece = b"\xff\x1b]0;title\x07\0" * 10000
    while True:
        for fd in (1, 2):
            os.write(fd, piece)
