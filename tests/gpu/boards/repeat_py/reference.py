# SPDX-License-Identifier: MIT
"""Inputs, and a check that takes less time than the harness's own."""
import torch

from task import input_t, output_t
from utils import get_device

RANKED_SECONDS = 0.3
KINDS = {"product": (torch.bfloat16, lambda matrix: matrix @ matrix), "softmax": (torch.float32, lambda matrix: torch.softmax(matrix, 1))}


def generate_input(kind: str, side: int, spin: int, seed: int) -> input_t:
    device = get_device()
    generator = torch.Generator(device=device).manual_seed(seed)
    return torch.randn(side, side, generator=generator, device=device, dtype=KINDS[kind][0]), spin


def check_implementation(data: input_t, output: output_t) -> str:
    matrix = data[0]
    expected = next(function for dtype, function in KINDS.values() if dtype == matrix.dtype)(matrix)
    if output.shape != expected.shape or output.dtype != expected.dtype:
        return "the result has another form"
    return "" if bool((output - expected).abs().max() <= expected.abs().max() * 0.01) else "a result is wrong"
