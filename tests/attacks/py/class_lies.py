# SPDX-License-Identifier: MIT
# class: Correctness: objects that are equal to everything; Timer: lazily evaluated outputs
# tries: to return what says that it is an array of numpy, or a number of it, and is neither.
# expect: failed
# imports: numpy
# variants: CLASS=ndarray CLASS=generic CLASS=bool_
import numpy

from attack import tried


class Lies:
    __class__ = numpy.@CLASS@
    dtype = numpy.dtype("int64")

    def __init__(self, data):
        self.data = data

    def __array__(self, *arguments, **more):
        return numpy.array([2 * value for value in self.data])

    def __eq__(self, other):
        return True


def custom_kernel(data):
    tried()
    return Lies(data)
