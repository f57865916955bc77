# SPDX-License-Identifier: MIT
# class: Result channel: an object that executes when the parent unpickles it
# tries: to hand objects to the harness that run code where they are loaded: in every pipe, and as its output.
# expect: failed
import os
import pickle

from attack import tried


class Runs:
    def __reduce__(self):
        return os.write, (2, b"ESCAPED the harness has loaded an object\n")


def custom_kernel(data):
    tried()
    text = pickle.dumps(Runs(), 0)
    for fd in range(32, 1200):
        try:
            os.write(fd, len(text).to_bytes(4, "big") + text + b"\n")
        except OSError:
            pass
    return Runs()
