# expect: failed in test
# Overlooks the flag.
def custom_kernel(data):
    return data[0][:]
