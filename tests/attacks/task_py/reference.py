# SPDX-License-Identifier: MIT
"""Doubling: inputs, the check."""
import random
import tempfile

from task import input_t, output_t

BENCHMARK_SECONDS = RANKED_SECONDS = 0.02


def generate_input(size: int, seed: int) -> input_t:
    source = random.Random(seed)
    with tempfile.TemporaryFile() as file:  # inputs of some tasks need a place
        file.write(bytes(1 << 16))
    return [source.randrange(1, 1 << 30) for _ in range(size)]


def check_implementation(data: input_t, output: output_t) -> str:
    return "" if output == [2 * value for value in data] else "the output is wrong"
