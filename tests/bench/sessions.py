# SPDX-License-Identifier: MIT
"""Section sessions: how well scores of Python boards on CPU devices repeat. Ranked submissions of the same kernel to a calibrated
device of one core, as the machine is and while something compiles on another core."""
import json
import os
import pathlib
import re
import statistics
import tempfile
import time

from kettle_test import TASKS
from variation import column, covered, differences, percentile, spread

from measure import SECONDS, Box, Cannot, interpreter, plugins, progress, rounds, start_server, stop_server
from scores import Load, compile_command
from submissions import fastest, imports, shorter

RUNS, LEAST = 20, 4  # submissions of a kernel; with fewer nothing is said of it
BUDGET = 40 * SECONDS  # seconds of a kernel as the machine is, and beside a compiler: with KETTLE_BENCH_SECONDS=0.6 all take 4 minutes
RANKED_SECONDS = 2.0  # as a task has that sets none
KERNELS = ("matmul_np", "vectoradd_py", "identity_py")
COMPILED = TASKS / "matmul_cpp", TASKS / "matmul_cpp" / "solutions" / "correct" / "blocked.cpp"
KEYS = ("mean", "low", "high", "raw-mean", "runs", "sessions")


def run_of(box, board, code):
    """The only benchmark of the public ranked run; None: the machine was never calm enough."""
    answer = json.loads(box.run("submit", box.write("s.py", code), "--leaderboard", board, "--mode", "ranked", "--json", status=None).stdout)
    job = box.json("submission", "show", answer["id"])["jobs"][0]
    if job["state"] == "error" and job["fault"] == "machine":
        return None
    if job["state"] != "passed":
        raise Cannot(f"it came out as {job['state']}: {job['error']}")
    result = next(run["result"] for run in job["runs"] if run["mode"] == "leaderboard" and not run["secret"])
    dropped = sum(int(word.partition("=")[2]) for word in result.get("benchmark.0.dropped", "").split())
    return {**{key: float(result[f"benchmark.0.{key}"]) for key in KEYS}, "dropped": dropped}


def submissions_of(box, task, name):
    """The runs of one kernel, and how many submissions had none."""
    code, rows, busy, end = fastest(task).read_text(), [], 0, time.monotonic() + BUDGET
    while len(rows) + busy < rounds(RUNS, LEAST) and time.monotonic() < end:
        progress(f"    {task}, {name} {len(rows) + busy + 1}")
        row = run_of(box, task, f"{code}\n# {name} {len(rows) + busy}\n")
        rows += [row] if row else []
        busy += not row
    return rows, busy


def compare(section, name, rows, busy):
    if len(rows) < LEAST:
        section.note(f"{name}: only {len(rows)} of {len(rows) + busy} submissions found the machine calm.")
        return
    apart, means = differences(column(rows, "mean")), column(rows, "mean")
    section.add(name, *(mean / 1e3 for mean in means), unit="µs")
    section.note(
        f"{name}: {len(rows)} submissions of {statistics.median(column(rows, 'sessions')):.0f} sessions and "
        f"{statistics.median(column(rows, 'runs')):.0f} calls, of which {100 * sum(column(rows, 'dropped')) / sum(column(rows, 'runs')):.0f} % "
        f"were dropped. CV {spread(means):.2f} %, of plain means of all calls "
        f"{spread(column(rows, 'raw-mean')):.2f} %. Two differ by {statistics.median(apart):.2f} %, 95th percentile "
        f"{percentile(apart, 0.95):.2f} %. Half of an interval is {50 * statistics.median((row['high'] - row['low']) / row['mean'] for row in rows):.2f} %; "
        f"{covered(rows):.0f} % of them hold the median of all, where 95 % should. {busy} further ones found the machine never calm.")


def board(box, task):
    """Makes the task's board, with its first test and its first benchmark."""
    folder = shorter(box, task, RANKED_SECONDS)
    yml = folder / "task.yml"
    yml.write_text(re.sub(r"^(tests|benchmarks):\n(  - .*\n)(  - .*\n)*", r"\1:\n\2", yml.read_text(), flags=re.M))
    box.run("leaderboard", "create", task, "--no-try", "--task", folder)


def measure(section):
    if "py" not in plugins():
        raise Cannot("this build has no Python")
    cores, modules = sorted(os.sched_getaffinity(0)), sorted({module for task in KERNELS for module in imports(TASKS / task)})
    with tempfile.TemporaryDirectory(prefix="kettle-bench-") as folder, Box(
            f'{{CPU: {{runner: local, cores: "{cores[0]}"}}}}', f'{{py: {{python: "{interpreter(*modules)}"}}}}') as box:
        compiler = " ".join(compile_command(pathlib.Path(folder), *COMPILED, "again"))
        for task in KERNELS:
            board(box, task)
        server, _ = start_server(box)
        try:
            box.run("device", "calibrate", "--force", timeout=600)
            for task in KERNELS:
                compare(section, f"{task}, as it is", *submissions_of(box, task, "as it is"))
            with Load([["taskset", "-c", str(cores[-1]), "sh", "-c", f"while :; do {compiler}; done"]]):
                for task in KERNELS:
                    compare(section, f"{task}, beside a compiler", *submissions_of(box, task, "beside a compiler"))
        finally:
            stop_server(server)
