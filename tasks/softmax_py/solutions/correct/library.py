# expect: passed in benchmark
# What torch has.
import torch


def custom_kernel(data):
    matrix, log = data
    return torch.log_softmax(matrix, dim=1) if log else torch.softmax(matrix, dim=1)
