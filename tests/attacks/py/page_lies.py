# SPDX-License-Identifier: MIT
# class: Result channel: answers that are none; Timer: an answer before the work, for another call, twice
# tries: to write into the control page and the pipes what no solver does: another call's answer, places outside of the
#        memory, tables without end, two answers, one that comes before anything was computed.
# expect: failed
# mode: benchmark
# variants: LIE=nonce LIE=status LIE=outside LIE=page LIE=endless LIE=twice LIE=early LIE=short LIE=table LIE=deep LIE=array LIE=pointer
import os
import sys

import exchange
from attack import honest, tried


def driver():
    frame = sys._getframe()
    while type(frame.f_locals.get("self")).__name__ != "Driver":
        frame = frame.f_back
    return frame.f_locals["self"]


def answer(memory, nonce, status, at, size):
    tried()
    text = {"table": b"[1, 2", "deep": b"[" * 100000, "array": b'{"array": ["O", [1], [8], 4096]}',
            "pointer": b'{"tensor": ["float32", [1], [1], -4096, false]}'}.get("@LIE@")
    if text:
        memory.map[at:at + len(text)], size = text, len(text)
    nonce, status, at, size = {
        "nonce": (b"12345678", status, at, size),
        "status": (nonce, 7, at, size),
        "outside": (nonce, status, memory.size - 1, size),
        "page": (nonce, status, 0, 200),
        "endless": (nonce, status, at, 1 << 63),
    }.get("@LIE@", (nonce, status, at, size))
    real(memory, nonce, status, at, size)


real, exchange.Memory.answer = exchange.Memory.answer, answer
write = os.write


def written(fd, data):
    if len(data) == 8 and fd == pipe[0]:
        if "@LIE@" == "twice":
            write(fd, data)
        if "@LIE@" == "short":
            data = data[:7]
    return write(fd, data)


pipe, os.write = [-1], written


def custom_kernel(data):
    mine = driver()
    pipe[0] = mine._pipes[1]
    if "@LIE@" == "early":
        tried()
        write(pipe[0], b"12345678")
    return honest(data)
