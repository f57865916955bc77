# SPDX-License-Identifier: MIT
"""What the hostile submissions in Python are asked for: every number doubled."""
from typing import List, TypedDict

input_t = List[int]
output_t = List[int]


class TestSpec(TypedDict):
    size: int
    seed: int
