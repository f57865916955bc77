# expect: failed in test
# Turns the sign around instead.
def custom_kernel(data):
    return [abs(value) for value in data]
