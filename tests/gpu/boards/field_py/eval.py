# SPDX-License-Identifier: MIT
"""A harness in KernelBot's form: a spawn pool of one calls the submission; this process alone reports."""
import dataclasses
import math
import multiprocessing
import os
import re
import sys
from pathlib import Path
from typing import Any


class PopcornOutput:
    def __init__(self, fd):
        self.file = os.fdopen(fd, "w")
        os.set_inheritable(fd, False)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.file.close()

    def log(self, key, value):
        print("%s: %s" % (key, value), file=self.file, flush=True)


@dataclasses.dataclass
class TestCase:
    args: dict
    spec: str


@dataclasses.dataclass
class Stats:
    runs: int
    mean: float
    std: float
    err: float
    best: float
    worst: float


def combine(a, b):
    return int(a + (a + b) * (a + b + 1) // 2)


def get_test_cases(file_name, seed):
    cases = []
    for line in Path(file_name).read_text().splitlines():
        case = {}
        for part in line.split(";"):
            matched = re.match(r"\s*([a-zA-Z_]+)\s*:\s*([a-zA-Z]+|[+-]?[0-9]+)\s*", part)
            if not matched:
                print("invalid test case: '%s'" % line, file=sys.stderr)
                sys.exit(113)
            case[matched[1]] = int(matched[2]) if re.fullmatch(r"[+-]?\d+", matched[2]) else matched[2]
        cases.append(TestCase(case, line))
    if seed is not None:
        for case in cases:
            if "seed" in case.args:
                case.args["seed"] = combine(case.args["seed"], seed)
    return cases


def run_single_test(case: TestCase):
    import torch
    from reference import check_implementation, generate_input
    from submission import custom_kernel
    data = generate_input(**case.args)
    torch.cuda.synchronize()
    output = custom_kernel(data.clone())
    torch.cuda.synchronize()
    return check_implementation(data, output)


def run_single_benchmark(case: TestCase, recheck: bool, most: int) -> Any:
    import torch
    from reference import check_implementation, generate_input
    from submission import custom_kernel
    from utils import clear_l2_cache
    durations = []
    data = generate_input(**case.args)
    message = check_implementation(data, custom_kernel(data.clone()))
    if message:
        return message
    for i in range(most):
        if recheck:
            case.args["seed"] += 13
            data = generate_input(**case.args)
        torch.cuda.synchronize()
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        clear_l2_cache()
        start.record()
        output = custom_kernel(data)
        end.record()
        torch.cuda.synchronize()
        durations.append(start.elapsed_time(end) * 1e6)
        if recheck:
            message = check_implementation(data, output)
            if message:
                return message
        del output
    mean = sum(durations) / len(durations)
    std = math.sqrt(sum((x - mean) ** 2 for x in durations) / (len(durations) - 1))
    return Stats(len(durations), mean, std, std / math.sqrt(len(durations)), float(min(durations)), float(max(durations)))


def run_testing(out, pool, cases):
    passed = True
    out.log("test-count", len(cases))
    for i, case in enumerate(cases):
        out.log("test.%d.spec" % i, case.spec)
        message = pool.apply(run_single_test, (case,))
        out.log("test.%d.status" % i, "fail" if message else "pass")
        if message:
            out.log("test.%d.error" % i, message)
            passed = False
    out.log("check", "pass" if passed else "fail")
    return 0 if passed else 112


def run_benchmarking(out, pool, cases, recheck, most):
    pool.apply(run_single_benchmark, (dataclasses.replace(cases[0]), False, 3))
    passed = True
    out.log("benchmark-count", len(cases))
    for i, case in enumerate(cases):
        out.log("benchmark.%d.spec" % i, case.spec)
        result = pool.apply(run_single_benchmark, (case, recheck, most))
        if isinstance(result, Stats):
            for field in dataclasses.fields(Stats):
                out.log("benchmark.%d.%s" % (i, field.name), getattr(result, field.name))
        else:
            passed = False
            out.log("benchmark.%d.status" % i, "fail")
            out.log("benchmark.%d.error" % i, result)
    out.log("check", "pass" if passed else "fail")
    return 0 if passed else 112


def main():
    fd = os.getenv("POPCORN_FD")
    if not fd:
        return 111
    if len(sys.argv) < 3:
        return 2
    mode = sys.argv[1]
    seed = os.getenv("POPCORN_SEED")
    os.unsetenv("POPCORN_SEED")
    cases = get_test_cases(sys.argv[2], int(seed) if seed else None)
    with PopcornOutput(int(fd)) as out:
        context = multiprocessing.get_context("spawn")
        with context.Pool(1) as pool:
            if mode == "test":
                return run_testing(out, pool, cases)
            if mode in ("benchmark", "leaderboard"):
                return run_benchmarking(out, pool, cases, mode == "leaderboard", 50)
            return 2


if __name__ == "__main__":
    sys.exit(main())
