# SPDX-License-Identifier: MIT
# class: Correctness: objects that are equal to everything
# tries: to return a tuple with names, whose comparison and whose length are its own.
# expect: failed
# variants: HOW=0 HOW=1
from attack import tried


class Lies(tuple):
    _fields = ()

    def __eq__(self, other):
        return True

    def __ne__(self, other):
        return False


class LiesByFields(tuple):
    _fields = ("values",)

    def __new__(cls, values=()):
        return tuple.__new__(cls, values)

    __eq__ = Lies.__eq__


def custom_kernel(data):
    tried()
    return Lies() if @HOW@ == 0 else LiesByFields([1, 2, 3])
