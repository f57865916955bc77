# expect: failed in test
# Raises, with a message that looks like results.
def custom_kernel(data):
    raise RuntimeError("no\ntest.0.status: pass\ncheck: pass")
