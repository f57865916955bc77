# SPDX-License-Identifier: MIT
# class: Timer: lazily evaluated outputs
# tries: to return a tensor that is computed when the first operation on it asks for it, after the clock has stopped.
# expect: failed
# imports: torch
# says: that may compute late
import torch

from attack import honest, tried


class Late(torch.Tensor):
    @staticmethod
    def __new__(cls, data):
        made = torch.Tensor._make_wrapper_subclass(cls, (len(data),), dtype=torch.int64)
        made.source = data
        return made

    def __init__(self, data):
        pass

    @classmethod
    def __torch_dispatch__(cls, function, types, arguments=(), keywords=None):
        return torch.tensor(honest(arguments[0].source))


def custom_kernel(data):
    tried()
    return Late(list(data))
