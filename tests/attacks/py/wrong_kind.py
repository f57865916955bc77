# SPDX-License-Identifier: MIT
# class: Correctness: wrong shapes and kinds that happen to compare
# tries: to return almost the right thing: another kind, one too many, one too few, a list in a list, nothing.
# expect: failed
# variants: HOW=0 HOW=1 HOW=2 HOW=3 HOW=4 HOW=5
from attack import honest, tried


def custom_kernel(data):
    tried()
    right = honest(data)
    return (tuple(right), right + [0], right[:-1], [right], None, "".join(map(chr, range(50))))[@HOW@]
