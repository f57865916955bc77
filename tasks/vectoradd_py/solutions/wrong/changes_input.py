# expect: failed in test
# Sets its inputs to zero, so that zero would be right if the check looked at them.
import torch


def custom_kernel(data):
    for tensor in data:
        tensor.zero_()
    return torch.zeros_like(data[0])
