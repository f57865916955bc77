# SPDX-License-Identifier: MIT
"""A harness in KernelBot's form for the section baseline: a fresh spawn pool of one does all that runs a submission."""
import multiprocessing
import os
import sys
import time

RUNS = 20


def cases_of(path):
    with open(path) as file:
        return [dict(pair.split(": ") for pair in line.strip().split("; ")) for line in file if line.strip()]


def arguments(case, secret):
    values = {key: int(value) for key, value in case.items()}
    if secret is not None:
        total = values["seed"] + secret
        values["seed"] += total * (total + 1) // 2
    return values


def test(values):
    from reference import check_implementation, generate_input
    from submission import custom_kernel
    data = generate_input(**values)
    return check_implementation(data, custom_kernel(data))


def benchmark(values):
    from reference import generate_input
    from submission import custom_kernel
    data, times = generate_input(**values), []
    for _ in range(RUNS):
        start = time.perf_counter_ns()
        custom_kernel(data)
        times.append(time.perf_counter_ns() - start)
    return times


def report_benchmark(say, i, times):
    mean = sum(times) / len(times)
    std = (sum((t - mean) ** 2 for t in times) / (len(times) - 1)) ** 0.5
    for key, value in (("runs", len(times)), ("mean", mean), ("std", std), ("err", std / len(times) ** 0.5),
                       ("best", min(times)), ("worst", max(times))):
        say(f"benchmark.{i}.{key}", value)


def main():
    mode, secret = sys.argv[1], os.environ.get("POPCORN_SEED")
    channel = os.fdopen(int(os.environ["POPCORN_FD"]), "w")

    def say(key, value):
        print(f"{key}: {value}", file=channel, flush=True)

    cases = cases_of(sys.argv[2])
    passed = True
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        if mode == "test":
            say("test-count", len(cases))
        else:
            passed = not pool.apply(test, (arguments(cases[0], secret and int(secret)),))
            say("benchmark-count", len(cases))
        for i, case in enumerate(cases):
            values = arguments(case, secret and int(secret))
            if mode == "test":
                message = pool.apply(test, (values,))
                say(f"test.{i}.status", "fail" if message else "pass")
                passed = passed and not message
            else:
                report_benchmark(say, i, pool.apply(benchmark, (values,)))
    say("check", "pass" if passed else "fail")
    return 0 if passed else 112


if __name__ == "__main__":
    sys.exit(main())
