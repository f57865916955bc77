#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""make bench: measures Kettle beside what it is compared with, interleaved in one run, and prints medians and ratios.
Raw samples go to bench.json in the build folder, and the page for people to benchmarks.md there (`make update-benchmarks`
takes it into the documentation). Arguments name sections: sandbox, accept, ranked, scores; without any all are measured.
KETTLE_BENCH_RUNS and KETTLE_BENCH_SECONDS say how many runs the section scores has, and how long each of them is."""
import json
import os
import pathlib
import re
import shutil
import socket
import statistics
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.environ.get("top_srcdir", "."), "tests", "lib"))
import scores  # noqa: E402
from kettle_test import BUILD, SOURCE, Scratch  # noqa: E402

samples = {}
summaries = {}  # name → median, p95, number: of samples that another program took


def add(name, value):
    samples.setdefault(name, []).append(value)


def timed(name, fn):
    start = time.perf_counter()
    result = fn()
    add(name, (time.perf_counter() - start) * 1e3)
    return result


def sandbox_start(runs=200):
    """A static /bin/true: started plainly, in the sandbox (with a spare and without), in bubblewrap, interleaved by the
    program itself."""
    folder = BUILD / "tests" / "bench"
    answer = json.loads(subprocess.run([str(folder / "sandbox_start"), str(folder / "static_true"), str(runs)],
                                       capture_output=True, text=True, check=True).stdout)
    for key, name in (("spawn", "no sandbox"), ("spare", "kettle"), ("cold", "kettle, nothing prepared"),
                      ("bubblewrap", "bubblewrap")):
        if answer.get(key):
            summaries[f"sandbox start: {name}"] = (answer[key]["median_us"] / 1e3, answer[key]["p95_us"] / 1e3, runs)


class Client:
    """A connection to the database's socket."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(str(path))
        self.file = self.socket.makefile("rwb")
        self.file.readline()
        self.id = 0

    def send(self, command, args, user="bench"):
        self.id += 1
        line = {"id": self.id, "call": command, "args": args,
                "actor": {"provider": "cli", "subject": user, "name": user}}
        self.file.write(json.dumps(line).encode() + b"\n")

    def receive(self):
        self.file.flush()
        return json.loads(self.file.readline())


def accept_rate(scratch, count=300):
    """Submissions accepted durably in a second over one connection, and board pages read."""
    import base64
    server = scratch.serve()
    client = Client(f"{scratch.database}.sock")
    code = base64.b64encode(scratch.solution("does_not_compile", kind="wrong").read_bytes()).decode()
    start = time.perf_counter()
    for _ in range(count):
        client.send("submit", {"file": {"name": "x.cpp", "base64": code}, "leaderboard": "b", "mode": "test"})
    for _ in range(count):
        answer = client.receive()
        assert "result" in answer, answer
    add("accepted submissions a second", count / (time.perf_counter() - start))
    for _ in range(200):
        client.send("leaderboard.show", {"name": "b"})
        timed("board page", client.receive)
    scratch.json("leaderboard", "delete", "b", "--force")
    server.terminate()
    server.wait(60)


def ranked(scratch, rounds=5):
    """A ranked submission through Kettle, beside a driver that does what the field's reference does: one compiler
    command over harness and submission before each of the six runs, without sandbox, queue or database."""
    task = SOURCE / "tasks" / "vectoradd_cpp"
    base = scratch.solution("naive").read_text()
    cases = read_cases()
    scratch.board("r")
    for number in range(rounds):
        file = scratch.write(f"s{number}.cpp", base + f"\n// {number}\n")
        answer = timed("ranked submission: kettle", lambda: scratch.json("submit", file, "--leaderboard", "r"))
        shown = scratch.json("submission", "show", answer["id"])
        runs = sum(r.get("wall_ns", 0) for job in shown["jobs"] for r in job["runs"])
        add("ranked submission: kettle, outside of the task's runs", samples["ranked submission: kettle"][-1] - runs / 1e6)
        timed("ranked submission: compile before each run",
              lambda: reference_driver(task, cases, file, scratch.root / "ref"))


def reference_driver(task, cases, submission, folder):
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    harness = SOURCE / "tasks" / "harness"
    for source in (harness / "eval.cpp", harness / "harness.h", harness / "utils.h", *task.glob("*.h")):
        shutil.copy(source, folder)
    shutil.copy(submission, folder / "submission.cpp")
    for _ in range(2):
        for mode in ("test", "benchmark", "leaderboard"):
            subprocess.run(["g++", "-std=c++17", "-O3", "-march=native", "-fopenmp", "eval.cpp", "submission.cpp", "-o",
                            "program"], cwd=folder, check=True)
            (folder / "cases.txt").write_text(cases[mode])
            ours, theirs = socket.socketpair()
            child = subprocess.Popen(["./program", mode, "cases.txt"], cwd=folder, pass_fds=[theirs.fileno()],
                                     env={**os.environ, "POPCORN_FD": str(theirs.fileno())})
            theirs.close()
            while ours.recv(65536):
                pass
            ours.close()
            assert child.wait() == 0, f"{mode} failed"


def read_cases():
    """The cases of the shipped task, as the field writes them."""
    text = (SOURCE / "tasks" / "vectoradd_cpp" / "task.yml").read_text()

    def rows(key):
        block = re.search(rf"^{key}:\n((?:[ -].*\n)+)", text, re.M).group(1)
        return ["; ".join(f"{k}: {v}" for k, v in re.findall(r"(\w+): *([\w]+)", line)) for line in block.splitlines()
                if "{" in line]
    tests, benchmarks = rows("tests"), rows("benchmarks")
    last = "ranking_by" not in text or re.search(r"ranking_by: *last", text)
    chosen = benchmarks[-1:] if last else benchmarks
    chosen = "\n".join(chosen) + "\n"
    return {"test": "\n".join(tests) + "\n", "benchmark": chosen, "leaderboard": chosen}


def ratios():
    """Lines for people: what is compared, and how many times as long it takes."""
    compared = (("sandbox start: bubblewrap", "sandbox start: kettle", "sandbox start, bubblewrap over kettle"),
                ("ranked submission: compile before each run", "ranked submission: kettle",
                 "ranked submission, compile before each run over kettle (whole, process start and database included)"))
    return [f"{text}: {summaries[a][0] / summaries[b][0]:.2f}" for a, b, text in compared
            if a in summaries and b in summaries]


def summarize():
    for name, values in samples.items():
        p95 = sorted(values)[int(len(values) * 0.95)] if len(values) > 1 else values[0]
        summaries[name] = (statistics.median(values), p95, len(values))


def rows():
    for name, (median, p95, number) in summaries.items():
        unit = "" if "a second" in name else " ms"
        yield name, f"{median:.2f}{unit}", f"{p95:.2f}{unit}", number


def report(repeated):
    summarize()
    print(f"\n{'what':58} {'median':>12} {'p95':>12} {'n':>5}")
    for name, median, p95, number in rows():
        print(f"{name:58} {median:>12} {p95:>12} {number:5}")
    print("", *ratios(), sep="\n")
    if repeated:
        print("\n" + scores.table(repeated))


def machine():
    text = pathlib.Path("/proc/cpuinfo").read_text()
    model = re.search(r"^model name\s*: (.*)$", text, re.M)
    return f"{model.group(1) if model else 'an unknown processor'}, {len(os.sched_getaffinity(0))} cores"


def page(repeated, load):
    """The page of the documentation."""
    lines = ["# Benchmarks", "", "Written by `make bench` and `make update-benchmarks`; nothing here is typed by hand.", "",
             f"Measured {time.strftime('%Y-%m-%d %H:%M UTC', time.gmtime())} on: {machine()}; load average {load:.1f} when "
             "it began. With a load above 0.3 something else was at work, and the figures are worse than the program.", ""]
    if summaries:
        lines += ["## Times", "", "| what | median | p95 | n |", "|---|---|---|---|"]
        lines += [f"| {' | '.join(map(str, row))} |" for row in rows()]
        lines += ["", *[f"- {line}" for line in ratios()], ""]
    if repeated:
        lines += ["## Scores that repeat", "",
                  "Fresh processes of the harness of C++ boards with one kernel, by turns with one that does 1 % more work; "
                  "the score is the calibrated mean, beside it the plain mean of the same calls. A pair is a run of each; it "
                  "is the wrong way round where the slower kernel is not behind. "
                  f"Load average around the runs of the machine as it is: {scores.load_text(repeated)}.", "",
                  scores.table(repeated), "",
                  "What a run's time buys: the error falls with the root of the number of pairs, about a hundred a second "
                  "for a kernel that takes less than a millisecond. `RANKED_SECONDS` in `defines` of a task sets it.", ""]
    return "\n".join(lines)


def main():
    wanted = sys.argv[1:] or ["sandbox", "accept", "ranked", "scores"]
    load = os.getloadavg()[0]
    repeated = None
    scratch = Scratch()
    try:
        if "sandbox" in wanted:
            sandbox_start()
        if "accept" in wanted:
            scratch.board("b")
            accept_rate(scratch)
        if "ranked" in wanted:
            ranked(scratch)
        if "scores" in wanted:
            (scratch.root / "scores").mkdir()
            repeated = scores.measure(scratch.root / "scores")
    finally:
        scratch.close()
    report(repeated)
    (BUILD / "bench.json").write_text(json.dumps({"samples": samples, "summaries": summaries, "scores": repeated}, indent=1))
    (BUILD / "benchmarks.md").write_text(page(repeated, load))
    print(f"\nraw samples: {BUILD}/bench.json; page: {BUILD}/benchmarks.md")


main()
