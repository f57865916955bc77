# SPDX-License-Identifier: MIT
"""Vector addition: inputs, the right answer, the check."""
import torch

from task import input_t, output_t
from utils import get_device, make_match_reference

BENCHMARK_SECONDS, RANKED_SECONDS = 0.2, 0.5


def generate_input(size: int, seed: int) -> input_t:
    device = get_device()
    generator = torch.Generator(device=device).manual_seed(seed)
    first = torch.rand(size, generator=generator, device=device) * 2 - 1
    second = torch.rand(size, generator=generator, device=device) * 2 - 1
    return first, second


def ref_kernel(data: input_t) -> output_t:
    return data[0] + data[1]


check_implementation = make_match_reference(ref_kernel, rtol=0, atol=1e-7)  # one addition: nothing to lose
