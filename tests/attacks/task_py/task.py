# SPDX-License-Identifier: MIT
"""The task of the hostile submissions in Python: double every number."""
from typing import List, TypedDict

input_t = List[int]
output_t = List[int]


class TestSpec(TypedDict):
    size: int
    seed: int
