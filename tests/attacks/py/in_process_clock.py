# SPDX-License-Identifier: MIT
# class: Timer: patching perf_counter; Correctness: patching module globals
# tries: to replace the clock that the harness has taken before it imported the submission.
# expect: passed
# mode: ranked
# slower: 0.001
import sys
import time

from attack import honest, tried

for name in ("__main__", "utils", "eval", "exchange", "solver"):
    now = [0]

    def earlier(now=now):
        now[0] += 1000
        return now[0]
    for clock in ("now_ns", "thread_time_ns", "time_ns", "idle"):
        if hasattr(sys.modules.get(name), clock):
            setattr(sys.modules[name], clock, earlier)


def custom_kernel(data):
    tried()
    time.sleep(0.0015)
    return honest(data)
