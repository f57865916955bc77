# expect: failed in benchmark
# Computes the first product of a shape only.
kept = {}


def custom_kernel(data):
    a, b = data
    key = (a.shape, b.shape)
    if key not in kept:
        kept[key] = a @ b
    return kept[key]
