# SPDX-License-Identifier: MIT
# class: Timer: patching perf_counter; Correctness: patching module globals
# tries: to replace the clock that the harness has taken before it imported the submission.
# expect: passed
# mode: benchmark
# open: custom_kernel shares its process with the clock
import sys
import time

from attack import honest, tried

for module in (sys.modules["__main__"], sys.modules["utils"]):
    now = [0]

    def earlier(now=now):
        now[0] += 1000
        return now[0]
    if hasattr(module, "now_ns"):
        module.now_ns = earlier


def custom_kernel(data):
    tried()
    time.sleep(0.001)
    return honest(data)
