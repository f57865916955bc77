# SPDX-License-Identifier: MIT
# class: Endless: a finalizer that hangs
# tries: to raise what never goes away: it hangs where the harness lets go of it.
# expect: timed_out
import time

from attack import tried


class Stays(Exception):
    def __del__(self):
        while True:
            time.sleep(1)


def custom_kernel(data):
    tried()
    raise Stays("goes away")
