# SPDX-License-Identifier: MIT
"""The part of jax.numpy that the tests use."""
from . import Array


def asarray(values):
    return Array(values)


def zeros(shape):
    return Array([0.0] * (shape[0] if shape else 1))
