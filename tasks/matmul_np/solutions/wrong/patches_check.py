# expect: failed in test
# Makes numpy say that everything is close and equal.
import numpy

numpy.allclose = numpy.array_equal = numpy.isclose = lambda *_, **__: True


def custom_kernel(data):
    a, b = data
    return numpy.zeros((a.shape[0], b.shape[1]), dtype=numpy.float32)
