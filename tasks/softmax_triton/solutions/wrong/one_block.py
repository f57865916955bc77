# expect: failed in test
# Only the first 128 columns; the others stay zero.
import torch
import triton
import triton.language as tl

from task import input_t, output_t


@triton.jit
def softmax(source, target, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * columns
    places = tl.arange(0, BLOCK)
    inside = places < columns
    values = tl.load(source + row + places, mask=inside, other=-float("inf"))
    exponents = tl.exp(values - tl.max(values, axis=0))
    tl.store(target + row + places, exponents / tl.sum(exponents, axis=0), mask=inside)


def custom_kernel(data: input_t) -> output_t:
    rows, columns = data.shape
    output = torch.zeros_like(data)
    softmax[(rows,)](data, output, columns, BLOCK=128)
    return output
