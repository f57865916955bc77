# SPDX-License-Identifier: MIT
# class: Timer: lazily evaluated outputs
# tries: to return an array that is computed when its type is read, which is after the clock has stopped.
# expect: failed
# imports: numpy
import numpy

from attack import escaped, tried


class Late(numpy.ndarray):
    @property
    def dtype(self):
        escaped("an output was used before it was copied")
        return numpy.dtype("int64")


def custom_kernel(data):
    tried()
    return numpy.zeros(len(data), dtype="int64").view(Late)
