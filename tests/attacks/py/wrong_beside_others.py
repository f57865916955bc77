# SPDX-License-Identifier: MIT
# class: Correctness: wrong results that do not count
# tries: wrong results in calls that the referee repeats, as something else ran beside them: one of its own threads, while a
#        large result is copied.
# expect: failed
# mode: benchmark
import os
import sys
import threading
import time
from struct import unpack

import exchange
from attack import honest, tried

spin, calls = threading.Event(), [0]


def helper():
    while True:
        spin.wait()
        end = time.perf_counter() + 0.004
        while time.perf_counter() < end:
            pass
        spin.clear()


def serve(driver):
    for _ in range(3):
        threading.Thread(target=helper, daemon=True).start()
    go, done = driver._pipes
    while True:
        message = os.read(go, 16)
        if len(message) != 16:
            return
        what, nonce = unpack("Q8s", message)
        if what == exchange.LOAD:
            driver._load()
        else:
            driver._memory.answer(nonce, *driver._answered(what))
            if calls[0] > 2 and calls[0] % 2 == 0:
                spin.set()
        os.write(done, nonce)


sys.modules["__main__"].Driver.serve = serve


def custom_kernel(data):
    calls[0] += 1
    if calls[0] > 2 and calls[0] % 2 == 0:
        tried()
        return bytes(60 << 20)
    return honest(data)
