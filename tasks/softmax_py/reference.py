# SPDX-License-Identifier: MIT
"""Softmax: inputs, the right answer, the check."""
from typing import List

import torch

from task import input_t, output_t
from utils import get_device, make_match_reference

BENCHMARK_SECONDS, RANKED_SECONDS = 0.1, 0.2


def generate_input(shape: List[int], scale: int, log: bool, seed: int) -> input_t:
    device = get_device()
    generator = torch.Generator(device=device).manual_seed(seed)
    return torch.randn(*shape, generator=generator, device=device) * scale, log


def ref_kernel(data: input_t) -> output_t:
    matrix, log = data
    function = torch.log_softmax if log else torch.softmax
    return function(matrix.double(), dim=1).float()


check_implementation = make_match_reference(ref_kernel, rtol=1e-4, atol=1e-6)
