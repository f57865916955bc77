# SPDX-License-Identifier: MIT
"""What submission and reference share."""
from typing import List, Tuple, TypedDict

import torch

input_t = Tuple[torch.Tensor, bool]
output_t = torch.Tensor


class TestSpec(TypedDict):
    shape: List[int]
    scale: int
    log: bool
    seed: int
