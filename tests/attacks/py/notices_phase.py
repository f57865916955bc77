# SPDX-License-Identifier: MIT
# class: Timer: noticing the phase (call count, mode in argv, warm-up) and behaving differently
# tries: to be right as long as it warms up, and to do nothing when times are taken.
# expect: failed
# mode: benchmark
import sys

from attack import honest, tried

calls = 0


def custom_kernel(data):
    global calls
    calls += 1
    tried()
    return honest(data) if calls <= 2 or "test" in sys.argv else list(data)
