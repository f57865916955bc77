# SPDX-License-Identifier: MIT
"""Copying bytes: inputs, the right answer, the check."""
import random

from task import input_t, output_t

BENCHMARK_SECONDS, RANKED_SECONDS = 0.1, 0.2


def generate_input(size: int, reverse: bool, seed: int) -> input_t:
    return bytearray(random.Random(seed).randbytes(size)), reverse


def ref_kernel(data: input_t) -> output_t:
    content, reverse = data
    return content[::-1] if reverse else content[:]


def check_implementation(data: input_t, output: output_t):
    if not isinstance(output, bytearray):
        return f"the output is a {type(output).__name__}, expected a bytearray"
    expected = ref_kernel(data)
    if len(output) != len(expected):
        return f"the output has {len(output)} bytes, expected {len(expected)}"
    wrong = next((i for i in range(len(output)) if output[i] != expected[i]), None) if output != expected else None
    return "" if wrong is None else f"at {wrong}: got {output[wrong]}, expected {expected[wrong]}"
