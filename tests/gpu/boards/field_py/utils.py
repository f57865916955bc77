# SPDX-License-Identifier: MIT
"""Helpers of the task."""
import random

import numpy as np
import torch


def set_seed(seed=42):
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)
    torch.cuda.manual_seed(seed)


def clear_l2_cache():
    dummy = torch.empty((32, 1024, 1024), dtype=torch.int64, device="cuda")
    dummy.fill_(42)
    del dummy


@torch.no_grad()
def verbose_allclose(received, expected, rtol=1e-3, atol=1e-3):
    if received.shape != expected.shape:
        return ["SIZE MISMATCH"]
    wrong = torch.nonzero(~torch.isclose(received, expected, rtol=rtol, atol=atol))
    return ["Number of mismatched elements: %d" % len(wrong)] if len(wrong) else []
