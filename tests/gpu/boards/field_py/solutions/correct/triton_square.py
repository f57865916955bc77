#!POPCORN leaderboard field_py
import torch
import triton
import triton.language as tl


@triton.jit
def square(source, target, count, BLOCK: tl.constexpr):
    places = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = places < count
    values = tl.load(source + places, mask=inside)
    tl.store(target + places, values * values, mask=inside)


def custom_kernel(data):
    output = torch.empty_like(data)
    square[(triton.cdiv(data.numel(), 1024),)](data, output, data.numel(), BLOCK=1024)
    return output
