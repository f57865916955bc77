import torch

from task import input_t, output_t


def custom_kernel(data: input_t) -> output_t:
    matrix, log = data
    return torch.log_softmax(matrix, dim=1) if log else torch.softmax(matrix, dim=1)
