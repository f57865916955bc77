# SPDX-License-Identifier: MIT
# class: Correctness: stale memory of the reference's result; finding the expected output through the collector or the heap
# tries: to find the right output among all objects that there are, instead of computing it.
# expect: failed
# mode: benchmark
import gc

from attack import tried


def custom_kernel(data):
    tried()
    found = [one for one in gc.get_objects() if type(one) is list and len(one) == len(data) and one is not data
             and all(type(value) is int for value in one)]
    doubles = [one for one in found if one[0] == 2 * data[0]]
    return list(doubles[-1] if doubles else found[-1] if found else [0])
