# SPDX-License-Identifier: MIT
# class: Host: memory floods
# tries: to touch memory until there is none, in this process or in many, and goes on when it is refused.
# expect: failed
# alone: yes
# variants: PROCESSES=0 PROCESSES=8
import os

from attack import tried


def custom_kernel(data):
    tried()
    for _ in range(@PROCESSES@):
        if os.fork() == 0:
            break
    kept, size = [], 64 << 20
    while True:
        try:
            kept.append(bytearray(os.urandom(4096) * (size // 4096)))
        except MemoryError:
            size = max(4096, size // 2)
