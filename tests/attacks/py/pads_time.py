# SPDX-License-Identifier: MIT
# class: Timer: making variance vanish so that the stop rule ends early
# tries: to take the same time in each call, so that the measurement ends after the fewest calls: it may, and is as slow as it is.
# expect: passed
# mode: ranked
# slower: 0.0015
import time

from attack import honest, tried

PADDED_NS = 3_000_000


def custom_kernel(data):
    tried()
    until = time.perf_counter_ns() + PADDED_NS
    output = honest(data)
    while time.perf_counter_ns() < until:
        pass
    return output
