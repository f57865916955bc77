# SPDX-License-Identifier: MIT
# class: Timer: choosing among the calls
# tries: to be timed in its fast calls alone: after each of the slow ones, which are two of three, work of its own goes on where nothing
#        but the referee is to run, so that this call might not count.
# expect: passed
# mode: ranked
# slower: 0.005
import threading
import time
import zlib

from attack import honest, tried

slow = threading.Event()
calls = 0


def work(text=bytes(1 << 22)):
    while True:
        slow.wait()
        slow.clear()
        zlib.crc32(text)


threading.Thread(target=work, daemon=True).start()


def custom_kernel(data):
    global calls
    tried()
    calls += 1
    output = honest(data)
    if calls % 3:
        end = time.perf_counter() + 0.006
        while time.perf_counter() < end:
            pass
        slow.set()
    return output
