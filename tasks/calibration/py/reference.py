# SPDX-License-Identifier: MIT
"""Calibration: inputs and the check. What counts is what the harness measures besides."""
import zlib

BENCHMARK_SECONDS = 1.0


def generate_input(size: int) -> bytes:
    return bytes(size)


def check_implementation(data: bytes, output: int) -> str:
    return "" if output == zlib.crc32(data) else "the checksum is wrong"
