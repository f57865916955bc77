# SPDX-License-Identifier: MIT
"""The older form of a task, a single file: numbers below zero become zero. Nothing but Python is needed.

`kettle leaderboard create relu --task relu.py` makes a board of it; submissions define custom_kernel(data).
"""
import array
import random

SIZE = 20000


def generate_input():
    return array.array("f", (random.uniform(-1, 1) for _ in range(SIZE)))


def ref_kernel(data):
    return [value if value > 0 else 0.0 for value in data]


def check_implementation(user_output, reference_output) -> bool:
    return list(user_output) == reference_output
