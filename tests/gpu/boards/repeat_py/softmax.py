# SPDX-License-Identifier: MIT
# A program of Triton for each row.
import torch
import triton
import triton.language as tl

from task import input_t, output_t, wait


@triton.jit
def softmax(source, target, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * columns
    places = tl.arange(0, BLOCK)
    inside = places < columns
    values = tl.load(source + row + places, mask=inside, other=-float("inf"))
    exponents = tl.exp(values - tl.max(values, axis=0))
    tl.store(target + row + places, exponents / tl.sum(exponents, axis=0), mask=inside)


def custom_kernel(data: input_t) -> output_t:
    matrix, spin = data
    result = torch.empty_like(matrix)
    softmax[(matrix.shape[0],)](matrix, result, matrix.shape[1], BLOCK=triton.next_power_of_2(matrix.shape[1]), num_warps=8)
    wait(spin)
    return result
