# SPDX-License-Identifier: MIT
"""Calibration: inputs and the check. What counts is what the harness measures besides."""
import numpy

BENCHMARK_SECONDS = 1.0


def generate_input(size: int) -> numpy.ndarray:
    return numpy.ones(size, dtype=numpy.float32)


def check_implementation(data: numpy.ndarray, output: float) -> str:
    return "" if output == len(data) else "the sum is wrong"
