# SPDX-License-Identifier: MIT
# class: Endless: a run that does not want to end
# tries: to stay in native code that answers to nothing: a search that takes years, a number of a billion digits, a wait
#        in the kernel.
# expect: timed_out
# variants: HOW=0 HOW=1 HOW=2
import ctypes
import os
import re

from attack import tried


def custom_kernel(data):
    tried()
    if @HOW@ == 0:
        re.match(r"(a+)+$", "a" * 60 + "b")
    if @HOW@ == 1:
        while True:
            pow(3, 3 ** 16)
    if @HOW@ == 2:
        os.mkfifo("/tmp/fifo")
        ctypes.PyDLL(None).open(b"/tmp/fifo", os.O_RDONLY)
