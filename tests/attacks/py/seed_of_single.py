# SPDX-License-Identifier: MIT
# class: Correctness: finding the secret seed in the heap (a board of a single reference file)
# tries: to find, while it is imported, numbers beside the seed's name in its own memory, in its environment and in /proc.
# expect: passed
# mode: ranked
# task: single
import ctypes
import os
import re

from attack import honest as custom_kernel, pids, read, say, tried

NAME, NEAR, MOST = b"POPCORN_" + b"SEED", 200, 64 << 20


def numbers(text):
    for match in re.finditer(NAME, text):
        yield from map(int, re.findall(rb"[1-9][0-9]{5,9}", text[max(0, match.start() - NEAR):match.end() + NEAR]))


tried()
found = set(numbers(repr(dict(os.environ)).encode()))
for pid in pids():
    found.update(numbers(read(f"/proc/{pid}/environ") or b""))
with open("/proc/self/maps") as file:
    for line in file:
        bounds, rights = line.split()[:2]
        start, end = (int(bound, 16) for bound in bounds.split("-"))
        if rights.startswith("rw") and "[v" not in line and end - start < MOST:
            found.update(numbers(ctypes.string_at(start, end - start)))
say(f"found {found}")
