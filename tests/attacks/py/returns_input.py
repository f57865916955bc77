# SPDX-License-Identifier: MIT
# class: Correctness: returning the input itself; changing the input so that the reference sees easy data
# tries: to make the input one for which it is right to return it, and to return it.
# expect: failed
# mode: benchmark
from attack import tried


def custom_kernel(data):
    tried()
    for i in range(len(data)):
        data[i] = 0
    return data
