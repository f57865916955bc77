# SPDX-License-Identifier: MIT
# class: Timer: patching perf_counter, time
# tries: to be the clock: every function of the module that tells the time says that none has passed.
# expect: passed
# mode: ranked
# slower: 0.002
import time

from attack import honest, tried

sleep = time.sleep
for name in ("perf_counter", "perf_counter_ns", "monotonic", "monotonic_ns", "time", "time_ns", "process_time",
             "process_time_ns", "thread_time", "thread_time_ns"):
    setattr(time, name, lambda: 1)


def custom_kernel(data):
    tried()
    sleep(0.0025)
    return honest(data)
