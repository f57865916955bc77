# expect: failed in test
# Imports what the machine does not have.
import surely_not_installed


def custom_kernel(data):
    return surely_not_installed.copy(data)
