# SPDX-License-Identifier: MIT
"""Matrix multiplication: inputs, the right answer, the check."""
import numpy

from task import input_t, output_t
from utils import match_reference

BENCHMARK_SECONDS, RANKED_SECONDS = 0.2, 0.5


def generate_input(m: int, n: int, k: int, seed: int) -> input_t:
    generator = numpy.random.default_rng(seed)
    a = generator.random((m, k), dtype=numpy.float32) * 2 - 1
    b = generator.random((k, n), dtype=numpy.float32) * 2 - 1
    return a, b


def ref_kernel(data: input_t) -> output_t:
    a, b = (matrix.astype(numpy.float64) for matrix in data)
    return (a @ b).astype(numpy.float32)


# Adding k products of numbers below 1 loses at most about k times half a unit of the last place of the sum, in practice
# a tenth of what is allowed here; ten bits of mantissa instead of 23 lose a hundred times as much as is allowed.
def check_implementation(data: input_t, output: output_t):
    return match_reference(data, output, ref_kernel, rtol=1e-6, atol=1e-6 + 2e-7 * data[0].shape[1])
