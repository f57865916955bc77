# SPDX-License-Identifier: MIT
# class: Result channel: filling the pipe so that the runner stalls
# tries: to keep the harness waiting for the end of a line, a byte now and then.
# expect: failed timed_out
import os
import time

from attack import tried


def custom_kernel(data):
    tried()
    while True:
        for name in os.listdir("/proc/self/fd"):
            try:
                if int(name) > 2:
                    os.write(int(name), b"0")
            except OSError:
                pass
        time.sleep(0.01)
