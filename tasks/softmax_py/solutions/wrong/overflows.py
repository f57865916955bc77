# expect: failed in test
# exp of large elements is infinite, and infinity divided by itself is no number.
def custom_kernel(data):
    matrix, log = data
    exponents = matrix.exp()
    result = exponents / exponents.sum(dim=1, keepdim=True)
    return result.log() if log else result
