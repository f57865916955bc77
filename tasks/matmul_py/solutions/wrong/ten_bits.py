# expect: failed in test
# Rounds its inputs to 10 bits of mantissa, as tensor cores do.
import torch


def custom_kernel(data):
    a, b, _ = data
    return a.to(torch.float16).float() @ b.to(torch.float16).float()
