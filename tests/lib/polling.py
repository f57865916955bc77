# SPDX-License-Identifier: MIT
"""Waiting for what a test cannot be told of: all that looks again and again until something is there."""
import time

# How many times longer than they should things take on a machine that has as many times as much to do as it can.
BUSY = 5


# After it the awaited does not come: a guard, below that of run_tests.py, which knows less of what was awaited.
LIMIT_S = 540


def poll(condition, what="a condition"):
    """Waits until condition() is true and returns its value; fails after LIMIT_S. A look that takes long,
    such as a command, is taken less often, and any the less the longer all takes: else looking has the processor that the awaited needs.
    what: words, or a function that returns them."""
    start = time.monotonic()
    end = start + LIMIT_S
    while True:
        begin = time.monotonic()
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"{what() if callable(what) else what} did not come within {LIMIT_S} s")
        time.sleep(max(0.01, 4 * (time.monotonic() - begin), min(0.2, (begin - start) / 20)))
