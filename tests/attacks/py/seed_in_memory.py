# SPDX-License-Identifier: MIT
# class: Correctness: finding the secret seed in the heap; reading the secret seed in a static constructor
# tries: to find, while it is being imported, what the harness knew before it started the submission: through the
#        collector, the modules, the frames, and byte by byte in its own memory.
# expect: passed
# mode: ranked
# preloads: numpy
import ctypes
import gc
import os
import re
import sys

from attack import honest as custom_kernel, say, tried

NAME, MOST = b"POPCORN_" + b"SEED", 64 << 20


def numbers_of(holders):
    """Numbers that could be a seed, among what these hold."""
    for one in holders:
        for value in one.values() if type(one) is dict else one:
            if type(value) is int and 10**5 < value < 1 << 31:
                yield value
            elif type(value) in (str, bytes) and value.isdigit() and 5 < len(value) < 11:
                yield int(value)


def in_memory():
    with open("/proc/self/maps") as file:
        for line in file:
            bounds, rights = line.split()[:2]
            start, end = (int(bound, 16) for bound in bounds.split("-"))
            if rights.startswith("rw") and "[v" not in line and end - start < MOST:
                text = ctypes.string_at(start, end - start)
                for match in re.finditer(NAME, text):
                    near = text[max(0, match.start() - 200):match.end() + 200]
                    yield from map(int, re.findall(rb"[1-9][0-9]{5,9}", near))


tried()
frames, frame = [os.environ], sys._getframe()
while frame:
    frames += [dict(frame.f_locals), dict(frame.f_globals)]
    frame = frame.f_back
found = set(numbers_of(map(dict, frames)))
found.update(numbers_of(list(one) if type(one) is not dict else dict(one) for one in gc.get_objects()
                        if type(one) in (dict, list, tuple, set)))
say(f"found {sorted(found)[:3000]}")
say(f"found in memory {set(in_memory())}")
