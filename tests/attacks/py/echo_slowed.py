# SPDX-License-Identifier: MIT
# class: Timer: slowing down the echo and the probes, which are taken off or decide what counts
# tries: to have more taken off its times than the hand-over of its calls takes: threads or processes of its own sweep the caches
#        and want the core while the referee measures, and rest during its calls.
# expect: passed failed
# mode: ranked
# slower: 0.0015
# variants: WHO=threads WHO=processes
import os
import threading

from attack import tried, work

WORK_NS = 3_000_000
resting = threading.Event()


def sweep(text=bytearray(8 << 20)):
    while True:
        text[:] = bytes(len(text))
        if resting.is_set():
            resting.wait(0.001)


def start():
    for _ in range(2):
        if "@WHO@" == "threads":
            threading.Thread(target=sweep, daemon=True).start()
        elif os.fork() == 0:
            sweep()


started = []


def custom_kernel(data):
    tried()
    if not started:
        started.append(start())
    resting.set()
    output = work(data, WORK_NS)
    resting.clear()
    return output
