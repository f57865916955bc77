# SPDX-License-Identifier: MIT
# class: Service: megabyte lines
# tries: to fail with a message of 100 MB, in one line.
# expect: failed
# within: 30
from attack import tried


def custom_kernel(data):
    tried()
    raise ValueError("check: pass " * (100 * 1000000 // 12))
