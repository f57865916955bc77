# SPDX-License-Identifier: MIT
# class: Endless: a run that waits for terminal input
# tries: to read from the terminal that started this.
# expect: passed
import os
import sys

from attack import escaped, honest as custom_kernel, tried

tried()
if sys.stdin.read() or os.isatty(0) or os.isatty(1):
    escaped("standard input has data")
try:
    if os.open("/dev/tty", os.O_RDWR) >= 0:
        escaped("there is a terminal")
except OSError:
    pass
