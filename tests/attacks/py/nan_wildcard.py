# SPDX-License-Identifier: MIT
# class: Correctness: NaN as a wildcard; objects that are equal to everything
# tries: to return what no comparison refuses: NaN, infinities, and things that say they are equal.
# expect: failed
# variants: WHAT=0 WHAT=1 WHAT=2 WHAT=3 WHAT=4 WHAT=5 WHAT=6
from attack import tried


class Equal(int):
    def __eq__(self, other):
        return True

    __hash__ = int.__hash__


class Meta(type):
    __eq__ = __ne__ = lambda *_: True
    __hash__ = type.__hash__


class EqualClass(metaclass=Meta):
    __eq__ = lambda *_: True


class EqualList(list):
    def __eq__(self, other):
        return True

    __ne__ = __lt__ = __gt__ = lambda self, other: False


def custom_kernel(data):
    tried()
    return (
        [float("nan")] * len(data),
        [float("inf")] * len(data),
        [Equal(0)] * len(data),
        EqualList(),
        [EqualList()] * len(data),
        EqualClass(),
        {"output": EqualClass()},
    )[@WHAT@]
