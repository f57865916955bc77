# expect: failed in benchmark
# Keeps its results and gives them out again for inputs of the same length: passes the tests, not the benchmarks, in
# which every call has other values.
kept = {}


def custom_kernel(data):
    content, reverse = data
    key = (len(content), reverse)
    if key not in kept:
        kept[key] = content[::-1] if reverse else content[:]
    return kept[key]
