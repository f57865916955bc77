# SPDX-License-Identifier: MIT
# The call of a library.
from task import input_t, output_t, wait


def custom_kernel(data: input_t) -> output_t:
    matrix, spin = data
    result = matrix @ matrix
    wait(spin)
    return result
