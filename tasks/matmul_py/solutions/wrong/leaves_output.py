# expect: failed in test
# Returns the output as it came and hopes that it holds an older result.
def custom_kernel(data):
    return data[2]
