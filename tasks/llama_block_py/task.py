# SPDX-License-Identifier: MIT
"""What submission and reference share."""
from typing import Dict, Tuple, TypedDict

import torch

# The tokens, (batch, length, size); the weights by name, see task.yml; the number of heads, and of those with keys.
input_t = Tuple[torch.Tensor, Dict[str, torch.Tensor], int, int]
output_t = torch.Tensor

EPSILON, ROPE_BASE = 1e-5, 10000.0


class TestSpec(TypedDict):
    batch: int
    length: int
    size: int
    heads: int
    key_heads: int
    hidden: int
    seed: int
