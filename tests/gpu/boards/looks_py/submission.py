# SPDX-License-Identifier: MIT
"""The modules that are looked at, each by itself; what one lacks another may have."""
MODULES = ("torch", "triton", "cupy", "jax")
