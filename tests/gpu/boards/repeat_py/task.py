# SPDX-License-Identifier: MIT
"""What submission and reference share. spin: clock cycles of a kernel behind the other one."""
from typing import Tuple, TypedDict

import torch

input_t = Tuple[torch.Tensor, int]
output_t = torch.Tensor


class TestSpec(TypedDict):
    kind: str
    side: int
    spin: int
    seed: int


def wait(spin):
    if spin and torch.cuda.is_available():
        torch.cuda._sleep(spin)
    else:
        sum(range(spin))
