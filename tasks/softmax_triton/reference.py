# SPDX-License-Identifier: MIT
"""Softmax on a CUDA device: inputs, the right answer, the check."""
import torch

from task import input_t, output_t
from utils import make_match_reference


def generate_input(rows: int, columns: int, scale: int, seed: int) -> input_t:
    generator = torch.Generator(device="cuda").manual_seed(seed)
    return torch.randn(rows, columns, generator=generator, device="cuda") * scale


def ref_kernel(data: input_t) -> output_t:
    return torch.softmax(data.double(), dim=1).float()


check_implementation = make_match_reference(ref_kernel, rtol=1e-4, atol=1e-6)
