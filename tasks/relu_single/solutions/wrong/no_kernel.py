# expect: failed in test
# Defines another function than the one that is called.
def kernel(data):
    return [value if value > 0 else 0.0 for value in data]
