# SPDX-License-Identifier: MIT
# class: Service: megabyte lines; an error that grows when it is shown
# tries: to raise exceptions whose story is endless: a chain of thousands, groups in groups, a recursion, a huge line.
# expect: timed_out failed
# variants: HOW=0 HOW=1 HOW=2
import sys

from attack import tried


def chain():
    error = ValueError("first")
    for number in range(20000):
        later = ValueError(f"then {number}")
        later.__cause__ = error
        error = later
    raise error


def groups():
    group = ValueError("one")
    for _ in range(24):
        group = ExceptionGroup("groups", [group, group]) if sys.version_info >= (3, 11) else group
    raise group


def deep(number=0):
    return deep(number + 1) + deep(number + 2)


def custom_kernel(data):
    tried()
    sys.setrecursionlimit(100000)
    (chain, groups, deep)[@HOW@]()
