# SPDX-License-Identifier: MIT
"""How well scores repeat: the harness of C++ boards by itself, many fresh processes, on a machine as it is, with both of
its cores kept busy, and while something compiles; calls are compared with the task's own calibrator. The plain means are
those of the same calls."""
import os
import pathlib
import re
import socket
import statistics
import subprocess
import sys
import time

from kettle_test import TASKS
from variation import column, covered, spread, wrong_pairs

RUNS = int(os.environ.get("KETTLE_BENCH_RUNS", "20"))
CASE = "m: 128; n: 192; k: 160; seed: 5"
HARNESS = TASKS / "harness"
KERNEL = TASKS / "matmul_cpp" / "solutions" / "correct" / "blocked.cpp"
UNLIKE = TASKS / "matmul_cpp" / "solutions" / "correct" / "reordered.cpp"
# As long as the task's runs are, so that the figures are those of its boards.
SECONDS = float(os.environ.get("KETTLE_BENCH_SECONDS") or
                re.search(r"#define RANKED_SECONDS ([\d.]+)", (TASKS / "matmul_cpp" / "reference.h").read_text())[1])
KEYS = ("mean", "low", "high", "ratio", "calibrator-ns", "raw-mean", "best", "runs")


def compile_command(folder, task, submission, program, *flags):
    return ["g++", "-std=c++17", "-O3", "-march=native", "-fopenmp", *flags, f"-I{HARNESS}", f"-I{task}",
            str(HARNESS / "eval.cpp"), str(submission), "-o", str(folder / program)]


def slower(folder):
    """The kernel with one per cent more work: four of its 32 · 12 blocks are computed twice."""
    text = KERNEL.read_text()
    loop = re.search(r"\t\tfor \(size_t row = 0; row < input\.m; row \+= ROWS\)\n\t\t\tblock\(([^\n]*)\);\n", text)
    again = (f"\t\tif (column < 4 * COLUMNS)\n"
             f"\t\t\tblock({loop.group(1).replace('row,', 'size_t{0},', 1)});\n")
    path = folder / "slower.cpp"
    path.write_text(text[:loop.end()] + again + text[loop.end():])
    return path


def run(program, mode, case, calibration="", core=None):
    """One fresh process: the result of its only benchmark."""
    cases = program.parent / "cases.txt"
    cases.write_text(case + "\n")
    ours, theirs = socket.socketpair()
    child = subprocess.Popen([str(program), mode, str(cases)], pass_fds=[theirs.fileno()],
                             env={**os.environ, "POPCORN_FD": str(theirs.fileno()), "KETTLE_CALIBRATION": calibration},
                             preexec_fn=(lambda: os.sched_setaffinity(0, {core})) if core is not None else None)
    theirs.close()
    text = b""
    while part := ours.recv(65536):
        text += part
    ours.close()
    assert child.wait() == 0, f"{program.name}: {text.decode()}"
    pairs = dict(line.split(": ", 1) for line in text.decode().splitlines())
    value = {key: float(pairs[f"benchmark.0.{key}"]) for key in KEYS}
    return {**value, "calibrator": pairs["benchmark.0.calibrator"], "calibrators": pairs["benchmark.0.calibrators"]}


def calibrate(program, case, core=None):
    """What `kettle device calibrate` does: the medians of five runs, by name."""
    times = {}
    for _ in range(5):
        for word in run(program, "benchmark", case, core=core)["calibrators"].split():
            name, ns = word.split("=")
            times.setdefault(name, []).append(float(ns))
    return {name: statistics.median(values) for name, values in times.items()}


def calibration_of(fixed, board):
    """KETTLE_CALIBRATION of a board: the fixed calibrators, and the task's own as its board has it."""
    known = {**fixed, **{name: ns for name, ns in board.items() if "-own-" in name}}
    return " ".join(f"{name}={ns:.1f}" for name, ns in known.items())


class Load:
    """Processes that go on until the end of a `with`."""

    def __init__(self, commands):
        self.commands = commands

    def __enter__(self):
        self.children = [subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                          start_new_session=True) for command in self.commands]

    def __exit__(self, *unused):
        for child in self.children:
            os.killpg(child.pid, 9)
            child.wait()


def busy(cores):
    """On each core one that computes, half of its time out of the caches and half out of memory."""
    text = ("import os, sys, time\nos.sched_setaffinity(0, {int(sys.argv[1])})\nblock = bytearray(64 << 20)\nwhile True:\n"
            " end = time.monotonic() + 0.05\n while time.monotonic() < end: sum(range(1000))\n"
            " end = time.monotonic() + 0.05\n while time.monotonic() < end: block[:32 << 20] = block[32 << 20:]\n")
    return [[sys.executable, "-c", text, str(core)] for core in cores]


def compare(condition, fast, slow):
    """Figures of one condition, of scores and of the plain means."""
    return {"condition": condition, "runs": len(fast), "calls": statistics.median(column(fast, "runs")),
            "score_cv": spread(column(fast, "mean")), "plain_cv": spread(column(fast, "raw-mean")),
            "score_wrong": wrong_pairs(column(fast, "mean"), column(slow, "mean")),
            "plain_wrong": wrong_pairs(column(fast, "raw-mean"), column(slow, "raw-mean")),
            "gap": 100 * (statistics.median(column(slow, "mean")) / statistics.median(column(fast, "mean")) - 1),
            "interval": 100 * statistics.median((r["high"] - r["low"]) / 2 / r["mean"] for r in fast),
            "covered": covered(fast)}


def fresh_runs(programs, calibration):
    """RUNS fresh processes of each, by turns."""
    rows = [[] for _ in programs]
    for _ in range(RUNS):
        for program, into in zip(programs, rows):
            into.append(run(program, "leaderboard", CASE, calibration))
    return rows


def beside_compiler(program, calibration, compiler, cores):
    """Runs on one core by turns with and without a compiler that goes on on the other one."""
    alone, beside = [], []
    command = f"while :; do {' '.join(compiler)} ; done"
    for _ in range(max(RUNS // 3, 3)):
        alone.append(run(program, "leaderboard", CASE, calibration, cores[-1]))
        with Load([["taskset", "-c", str(cores[0]), "sh", "-c", command]]):
            beside.append(run(program, "leaderboard", CASE, calibration, cores[-1]))

    def moved(key):
        return 100 * (statistics.median(column(beside, key)) / statistics.median(column(alone, key)) - 1)
    return {"runs": len(alone), "score": moved("mean"), "plain": moved("raw-mean"),
            "score_cv": spread(column(alone, "mean")), "samples": {"alone": alone, "beside": beside}}


def measure(folder):
    """All of it, in the order of the page. folder: an empty one."""
    folder = pathlib.Path(folder)
    cores = sorted(os.sched_getaffinity(0))[:2]
    task, calibration_task = TASKS / "matmul_cpp", TASKS / "calibration" / "cpp"
    flags = [f"-DRANKED_SECONDS={SECONDS}", f"-DBENCHMARK_SECONDS={SECONDS}"]
    compiler = compile_command(folder, task, KERNEL, "kernel", *flags)
    subprocess.run(compiler, check=True)
    subprocess.run(compile_command(folder, task, slower(folder), "slower", *flags), check=True)
    subprocess.run(compile_command(folder, task, UNLIKE, "unlike", *flags), check=True)
    subprocess.run(compile_command(folder, calibration_task, calibration_task / "template.cpp", "calibration"), check=True)
    programs = [folder / "kernel", folder / "slower"]
    result = {"started": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()), "seconds": SECONDS, "load": [os.getloadavg()[0]]}
    fixed = calibrate(folder / "calibration", "steps: 100000")
    result["calibration"] = calibration = calibration_of(fixed, calibrate(programs[0], CASE))
    quiet = fresh_runs(programs, calibration)
    result["load"].append(os.getloadavg()[0])
    with Load(busy(cores)):
        loaded = fresh_runs(programs, calibration)
    result["conditions"] = [compare("as it is", *quiet), compare("both cores loaded", *loaded)]
    again = compile_command(folder, task, KERNEL, "again", *flags)
    result["compiler"] = beside_compiler(programs[0], calibration, again, cores)
    unlike = [run(folder / "unlike", "leaderboard", CASE, calibration) for _ in range(max(RUNS // 3, 3))]
    result["unlike"] = {key: spread(column(unlike, of)) for key, of in (("score", "mean"), ("plain", "raw-mean"))}
    result["samples"] = {"quiet": quiet, "loaded": loaded, "unlike": unlike}
    return result


def table(result):
    """The figures as a table in Markdown, which people read as well."""
    lines = [f"| {RUNS} fresh runs of a kernel, {result['seconds']:g} s each | calls a run | CV, score | CV, plain mean | "
             "interval, ± | intervals right, of 95 % | 1 % slower: seen as | pairs in the wrong order, score | plain mean |",
             "|---|---|---|---|---|---|---|---|---|"]
    for c in result["conditions"]:
        lines.append(f"| {c['condition']} | {c['calls']:.0f} | {c['score_cv']:.2f} % | {c['plain_cv']:.2f} % | "
                     f"{c['interval']:.2f} % | {c['covered']:.0f} % | {c['gap']:+.2f} % | {c['score_wrong']:.1f} % | {c['plain_wrong']:.1f} % |")
    c = result["compiler"]
    lines.append("")
    lines.append(f"With a compiler on the other core, the median of {c['runs']} runs moves by {c['score']:+.2f} % "
                 f"(score) and {c['plain']:+.2f} % (plain mean). For a kernel that is unlike the calibrator "
                 f"(`{UNLIKE.name}`), the CV of the scores is {result['unlike']['score']:.2f} %, that of the plain means "
                 f"{result['unlike']['plain']:.2f} %.")
    return "\n".join(lines)


def plotted(result):
    """The scores and plain means of both kernels in ms, by condition."""
    conditions = zip((c["condition"] for c in result["conditions"]), (result["samples"][key] for key in ("quiet", "loaded")))
    return {name: {kernel: {what: [round(value / 1e6, 6) for value in column(rows, key)]
                            for what, key in (("score", "mean"), ("plain mean", "raw-mean"))}
                   for kernel, rows in zip(("kernel", "slower"), pair)} for name, pair in conditions}


def load_text(result):
    return " and ".join(f"{load:.1f}" for load in result["load"])
