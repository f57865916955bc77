# expect: failed in test
# Computes with 10 bits of mantissa.
import numpy


def custom_kernel(data):
    a, b = data
    return a.astype(numpy.float16).astype(numpy.float32) @ b.astype(numpy.float16).astype(numpy.float32)
