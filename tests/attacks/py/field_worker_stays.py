# SPDX-License-Identifier: MIT
# class: Endless: threads left, a worker that no signal ends (a KernelBot-compatible harness)
# tries: to keep the pool from ending: signals are ignored, threads go on, exit handlers never return.
# expect: timed_out passed
# task: field
import atexit
import signal
import threading
import time

from attack import honest, tried


def custom_kernel(data):
    tried()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    threading.Thread(target=time.sleep, args=(1000,)).start()
    atexit.register(time.sleep, 1000)
    return honest(data[0])
