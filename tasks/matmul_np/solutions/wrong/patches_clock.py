# expect: failed in benchmark
# Makes every clock stand still, and is wrong where it counts: the times that remain are checked, and so is the output.
import time

import numpy

time.perf_counter_ns = time.monotonic_ns = time.perf_counter = time.monotonic = lambda: 0


def custom_kernel(data):
    a, b = data
    return a @ b if a.shape[0] < 128 else numpy.zeros((a.shape[0], b.shape[1]), dtype=numpy.float32)
