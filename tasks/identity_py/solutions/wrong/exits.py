# expect: failed in test
# Leaves with status 0 before anything was checked.
import os


def custom_kernel(data):
    os._exit(0)
