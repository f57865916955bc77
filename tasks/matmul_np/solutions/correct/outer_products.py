# expect: passed in benchmark
# A sum of outer products: slower, and as right.
import numpy


def custom_kernel(data):
    a, b = data
    c = numpy.zeros((a.shape[0], b.shape[1]), dtype=numpy.float32)
    for p in range(a.shape[1]):
        c += a[:, p:p + 1] * b[p]
    return c
