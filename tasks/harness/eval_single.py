# SPDX-License-Identifier: MIT
"""The harness of boards that are made of a single reference file, in the older form of KernelBot: reference.py defines

  generate_input()                                 one input; every call another one (random, numpy, torch are seeded)
  ref_kernel(data)                                 the right output
  check_implementation(output, expected) -> bool   whether an output is as right as that

and the submission, train.py, defines custom_kernel(data). Both halves are this file: the one with the result channel,
started as `python3 eval_single.py <mode> <cases file>`, is the referee. It has ten fresh inputs checked; for times ten
calls warm up (on GPUs one hundred are then taken), each with fresh inputs, checked, on a copy. How that is done, and what is
safe, is in eval.py. `score:` with the seconds is printed for people alone.
"""
import os
import sys

TIMED = (10, 100, 100)
CALLS = {"test": (10,), "benchmark": TIMED, "leaderboard": TIMED, "profile": (2,)}


def load():
    import reference
    from reference import check_implementation, generate_input, ref_kernel
    from eval import Task
    from utils import set_seed

    def generate(case):
        set_seed(case.get("seed", 0))
        return generate_input()

    def check(data, output):
        return check_implementation(output, ref_kernel(data))
    yield Task(generate, check, reference)
    from train import custom_kernel
    yield custom_kernel


if __name__ == "__main__":
    if "POPCORN_FD" in os.environ:
        import eval
        eval.main(sys.argv, load, CALLS, prints_score=True)
    import solver
    solver.main(load)
