# SPDX-License-Identifier: MIT
"""Matrix multiplication: inputs, the right answer, the check."""
import torch

from task import input_t, output_t
from utils import get_device, match_reference

BENCHMARK_SECONDS, RANKED_SECONDS = 0.1, 0.2


def generate_input(m: int, n: int, k: int, seed: int) -> input_t:
    device = get_device()
    generator = torch.Generator(device=device).manual_seed(seed)
    a = torch.rand(m, k, generator=generator, device=device) * 2 - 1
    b = torch.rand(k, n, generator=generator, device=device) * 2 - 1
    return a, b, torch.full((m, n), float("nan"), device=device)


def ref_kernel(data: input_t) -> output_t:
    a, b, _ = data
    return (a.double() @ b.double()).float()


# Adding k products of numbers below 1 loses at most about k times half a unit of the last place of the sum, in practice
# a tenth of what is allowed here; ten bits of mantissa instead of 23 lose a hundred times as much as is allowed.
def check_implementation(data: input_t, output: output_t):
    return match_reference(data, output, ref_kernel, rtol=1e-6, atol=1e-6 + 2e-7 * data[0].shape[1])
