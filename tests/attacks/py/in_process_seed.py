# SPDX-License-Identifier: MIT
# class: Correctness: finding the secret seed through frames
# tries: to read the seed of the case in the frames of the harness that calls it, and to compute the secret one from it,
#        as if one followed from the other by a formula.
# expect: passed
# mode: ranked
import sys

from attack import honest, say, tried


def custom_kernel(data):
    tried()
    frame = sys._getframe()
    while frame:
        case = frame.f_locals.get("self")
        if hasattr(case, "seed") and hasattr(case, "values") and case.seed != case.values["seed"]:
            public, low, high = case.values["seed"], 0, 1 << 33
            while low < high:  # seed = public + t(t+1)/2 with t = public + secret
                middle = (low + high) // 2
                low, high = (middle + 1, high) if public + middle * (middle + 1) // 2 < case.seed else (low, middle)
            say(f"the secret is {low - public}")
        frame = frame.f_back
    return honest(data)
