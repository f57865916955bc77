# SPDX-License-Identifier: MIT
# class: Correctness: outputs replayed by identity, shape or value; one launch that serves several timed calls
# tries: to compute once and to return that again, for each input that looks like the one before.
# expect: failed
# mode: benchmark
from attack import honest, tried

kept = {}


def custom_kernel(data):
    tried()
    return kept.setdefault(len(data), honest(data))
