# SPDX-License-Identifier: MIT
"""A kernel of Triton's, run on a GPU, or compiled for one where there is none."""
import triton
import triton.language as tl

SIZE, BLOCK = 1 << 20, 1024


@triton.jit
def vectoradd(a, b, out, size, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(a + at, mask=at < size) + tl.load(b + at, mask=at < size), mask=at < size)


class Absent:
    """Stands in for the driver: reports the model of its GPU and supports no other query."""

    def __init__(self, capability):
        from triton.backends.compiler import GPUTarget
        self.target = GPUTarget("cuda", capability, 32)

    def get_current_target(self):
        return self.target

    def get_current_device(self):
        return 0

    def get_current_stream(self, _):
        return 0


def fill(capability):
    """Compiles into the cache what a run on a GPU of this capability asks it for."""
    import torch
    from triton.runtime import driver
    driver.set_active(Absent(capability))
    vectoradd.warmup(torch.float32, torch.float32, torch.float32, SIZE, BLOCK=BLOCK, grid=(SIZE // BLOCK,))


def run(torch, device):
    a = torch.ones(SIZE, device=device)
    out = torch.empty_like(a)
    vectoradd[(SIZE // BLOCK,)](a, a, out, SIZE, BLOCK=BLOCK)
    return out
