# SPDX-License-Identifier: MIT
"""The harness of boards that are made of a single reference file, in the older form of KernelBot: reference.py defines

  generate_input()                                 one input; every call another one (random, numpy, torch are seeded)
  ref_kernel(data)                                 the right output
  check_implementation(output, expected) -> bool   whether an output is as right as that

and the submission, train.py, defines custom_kernel(data). Started as `python3 eval_single.py <mode> <cases file>`. It
checks ten fresh inputs; for times it warms up ten times and takes one hundred calls, each with fresh inputs, checked, on
a copy. How that is done, and what is safe, is in eval.py, which reads KETTLE_SECRET_FD too. `score:` with the seconds is
printed for people alone.
"""
import sys

import eval as harness

SETTINGS = {"inputs": 10, "warmup": 10, "benchmark": (100, 100), "leaderboard": (100, 100), "prints_score": True}


def load():
    import reference
    from reference import check_implementation, generate_input, ref_kernel
    from utils import set_seed
    yield
    from train import custom_kernel

    def generate(case):
        set_seed(case.get("seed", 0))
        return generate_input()

    def check(data, output):
        return check_implementation(output, ref_kernel(data))
    yield harness.Task(generate, custom_kernel, check, reference)


if __name__ == "__main__":
    harness.main(sys.argv, load, SETTINGS)
