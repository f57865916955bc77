# SPDX-License-Identifier: MIT
# class: Timer: lazy memory; Result channel: memory in descriptors
# tries: to take pages away from the memory that it shares: holes where the input, the result or the control page is, or
#        private pages laid over it, so that the referee sees something else than itself, or fails.
# expect: passed failed
# mode: benchmark
# variants: HOW=table HOW=page HOW=inputs HOW=advice HOW=private HOW=closed
import ctypes
import os

import exchange
from attack import calls, driver, honest, tried

MADV_REMOVE, KEEP_SIZE_PUNCH_HOLE, PROT_NONE, PROT_BOTH, FIXED = 9, 3, 0, 3, 0x32  # MAP_FIXED, PRIVATE, ANONYMOUS
libc, number = calls(), ctypes.c_long
answer = exchange.Memory.answer


def punch(memory, at, size):
    return libc.fallocate64(memory.fd, KEEP_SIZE_PUNCH_HOLE, number(at), number(size))


def answered(memory, nonce, status, at, size):
    """After the result was written, and before the referee looks."""
    answer(memory, nonce, status, at, size)
    page = at // 4096 * 4096
    address = ctypes.c_void_p(memory.address + page)
    tried()
    if "@HOW@" == "table":
        punch(memory, page, 1 << 20)
    elif "@HOW@" == "page":
        punch(memory, 0, 4096)
    elif "@HOW@" == "inputs":
        punch(memory, 4096, memory.size // 2 - 4096)
    elif "@HOW@" == "advice":
        libc.madvise(address, number(1 << 20), MADV_REMOVE)
    elif "@HOW@" == "closed":
        libc.mprotect(address, number(1 << 20), PROT_NONE)
        os.write(driver()._pipes[1], nonce)
        os._exit(0)


exchange.Memory.answer = answered


def custom_kernel(data):
    tried()
    mine = driver()
    if "@HOW@" == "private":
        libc.mmap.restype = ctypes.c_void_p
        at = mine._writer._first
        libc.mmap(ctypes.c_void_p(mine._memory.address + at), number(1 << 20), PROT_BOTH, FIXED, -1, number(0))
    return honest(data)
