# SPDX-License-Identifier: MIT
# class: Correctness: importing the reference and precomputing; shapes and constants hard-coded
# tries: to compute the outputs of all public cases when it is imported, and nothing later.
# expect: failed
# mode: benchmark
from attack import honest, tried
from reference import generate_input

tried()
with open("cases.txt") as file:
    cases = [dict((key.strip(), int(value)) for key, value in (pair.split(":") for pair in line.split(";"))) for line in file]
known = {tuple(generate_input(**case)): honest(generate_input(**case)) for case in cases}


def custom_kernel(data):
    return known.get(tuple(data), [])
