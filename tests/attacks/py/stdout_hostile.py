# SPDX-License-Identifier: MIT
# class: Service: names with control characters; invalid UTF-8
# tries: to be right, and to print what terminals obey, what JSON cannot hold, and long lines, on both outputs.
# expect: passed
# rendered: yes
import os
import sys

from attack import honest, tried


def custom_kernel(data):
    if not hasattr(os, "said"):
        os.said = True
        tried()
        for fd in (1, 2):
            os.write(fd, b"\x1b[2J\x9b31m\xff\xfe\xed\xa0\x80\0\x07 {\"event\":\"done\"}\n" + b"x" * (20000) + b"\n")
        sys.stdout.reconfigure(encoding="utf-16", newline="\r")
        sys.stdout.write("check: fail\r")
    return honest(data)
