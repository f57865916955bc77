# expect: failed in benchmark
# Right for every test, wrong for the sizes that are timed: being quick must not pay.
def custom_kernel(data):
    first, second = data
    if len(first) > 200000:
        half = len(first) // 2
        first[:half].add_(second[:half])
        return first
    return first + second
