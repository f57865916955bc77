# expect: passed in test
# The largest element of a row is taken off before exp, so that nothing overflows.
import torch


def custom_kernel(data):
    matrix, log = data
    matrix = matrix - matrix.amax(dim=1, keepdim=True)
    exponents = matrix.exp()
    sums = exponents.sum(dim=1, keepdim=True)
    return matrix - sums.log() if log else exponents.div_(sums)
