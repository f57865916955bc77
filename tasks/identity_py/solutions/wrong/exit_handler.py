# expect: failed in test
# Does nothing right, and turns every orderly end into status 0.
import atexit
import os

atexit.register(os._exit, 0)


def custom_kernel(data):
    return bytearray()
