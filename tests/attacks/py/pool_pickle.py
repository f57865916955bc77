# SPDX-License-Identifier: MIT
# class: Result channel: an object that executes when the parent unpickles it (a KernelBot-compatible harness)
# tries: to have the harness load an object from the pool, and to be there then, with seed and channel.
# expect: passed
# mode: ranked
# task: field
# open: a harness that unpickles what its workers send hands them all that it has
import sys

from attack import tried

THERE = """(__import__('os').write(2, b"in the harness: " + repr(__import__('os').environ.get('POPCORN_SEED')).encode()), '')[1]"""


class Runs:
    def __reduce__(self):
        return eval, (THERE,)


tried()
harness = sys.modules["__mp_main__"].call_once.__globals__
harness["check_implementation"] = lambda *_: Runs()


def custom_kernel(data):
    return []
