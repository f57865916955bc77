# SPDX-License-Identifier: MIT
"""What submission and reference share."""
from typing import Tuple, TypedDict

input_t = Tuple[bytearray, bool]
output_t = bytearray


class TestSpec(TypedDict):
    size: int
    reverse: bool
    seed: int
