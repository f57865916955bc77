# expect: failed in test
# Right for symmetric products only.
def custom_kernel(data):
    a, b, _ = data
    return (a @ b).T
