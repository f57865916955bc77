# expect: timed_out in test
# Never returns.
def custom_kernel(data):
    while True:
        pass
