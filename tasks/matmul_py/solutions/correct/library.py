# expect: passed in benchmark
# What torch has, into the output that is there.
import torch


def custom_kernel(data):
    a, b, c = data
    return torch.matmul(a, b, out=c)
