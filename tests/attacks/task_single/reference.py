# SPDX-License-Identifier: MIT
"""Doubling, in the older form of KernelBot."""
import random


def generate_input():
    return [random.randrange(1, 1 << 30) for _ in range(100)]


def ref_kernel(data):
    return [2 * value for value in data]


def check_implementation(output, expected):
    return output == expected
