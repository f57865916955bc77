# SPDX-License-Identifier: MIT
# class: Timer: slowing down what tells a calm machine
# tries: to be fast by comparison: threads of its own work while the probes do, and rest during its calls.
# expect: passed failed
# mode: ranked
# slower: 0.0028
import threading
import time
import zlib

from attack import honest, tried

resting = threading.Event()


def work(text=bytes(1 << 16)):
    while True:
        if resting.is_set():
            time.sleep(0.0001)
        else:
            zlib.crc32(text)


for _ in range(4):
    threading.Thread(target=work, daemon=True).start()


def custom_kernel(data):
    tried()
    resting.set()
    time.sleep(0.006)
    output = honest(data)
    resting.clear()
    return output
