# expect: failed in test
# Leaves the work to a child, which returns as well; the parent returns at once, with nothing.
import os


def custom_kernel(data):
    content, reverse = data
    if os.fork() == 0:
        return content[::-1] if reverse else content[:]
    return bytearray()
