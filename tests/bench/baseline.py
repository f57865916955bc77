# SPDX-License-Identifier: MIT
"""Section baseline: a task that computes next to nothing, in Kettle and by a driver that does what KernelBot's reference
does: for each of test, benchmark and leaderboard, public and then secret, the submission is run once beforehand and then
the harness in a fresh interpreter, which starts a spawn pool of one. Without sandbox, queue or database. A shipped task in
C++ besides, which that driver compiles before each run."""
import os
import pathlib
import re
import shutil
import socket
import subprocess
import time

from kettle_test import TASKS

from measure import RANKED_REST, Box, Cannot, interpreter, plugins, progress, rounds, split, start_server, stop_server, wants_warm
from submissions import shorter

COMPILED, COMPILED_SECONDS = "vectoradd_cpp", 0.1
HERE = pathlib.Path(__file__).parent
TASK = """\
files:
  - {name: eval.py, source: eval.py}
  - {name: reference.py, source: reference.py}
  - {name: submission.py, source: "@SUBMISSION@"}
lang: py
description: hardly anything
config: {main: eval.py}
tests: [{size: 8, seed: 1}, {size: 16, seed: 2}]
benchmarks: [{size: 16, seed: 3}]
"""
MAKES = {"bare": "[(seed + i) % 7 for i in range(size)]", "numpy": "numpy.arange(size) * seed % 7",
         "torch": "torch.arange(size) * seed % 7"}
TAKES = {"bare": "[2 * x for x in data]", "numpy": "2 * data", "torch": "2 * data"}
TARGETS = {"numpy": "400 ms", "torch": "150 ms"}  # of all but the task's own work, and here that is next to nothing
CASES = {"test": "size: 8; seed: 1\nsize: 16; seed: 2\n", "benchmark": "size: 16; seed: 3\n",
         "leaderboard": "size: 16; seed: 3\n"}


def write_task(folder, module):
    imported = "" if module == "bare" else f"import {module}\n\n\n"
    folder.mkdir()
    (folder / "task.yml").write_text(TASK)
    shutil.copy(HERE / "field_eval.py", folder / "eval.py")
    (folder / "reference.py").write_text(
        f"{imported}def generate_input(size, seed):\n    return {MAKES[module]}\n\n\n"
        "def check_implementation(data, output):\n"
        "    return '' if [int(x) for x in output] == [2 * int(x) for x in data] else 'wrong'\n")
    return f"{imported}def custom_kernel(data):\n    return {TAKES[module]}\n"


def phase(prepare, harness, folder, mode, secret, cases=None):
    """What KernelBot does for one mode: a command beforehand, and then the harness."""
    (folder / "cases.txt").write_text((cases or CASES)[mode])
    subprocess.run(prepare, cwd=folder, check=True)
    ours, theirs = socket.socketpair()
    env = {**os.environ, "POPCORN_FD": str(theirs.fileno()), **({"POPCORN_SEED": "1234567"} if secret else {})}
    child = subprocess.Popen([*harness, mode, "cases.txt"], cwd=folder, pass_fds=[theirs.fileno()], env=env)
    theirs.close()
    text = b""
    while part := ours.recv(65536):
        text += part
    ours.close()
    if child.wait() != 0 or b"check: pass" not in text:
        raise Cannot(f"the driver's {mode} run failed: {text[-300:]}")


def drive(python, task, code, folder, modes, halves):
    """A whole submission; the seconds it took."""
    start = time.perf_counter()
    for secret in range(halves):
        for mode in modes:
            shutil.rmtree(folder, ignore_errors=True)
            shutil.copytree(task, folder)
            (folder / "submission.py").write_text(code)
            phase([python, "submission.py"], [python, "eval.py"], folder, mode, secret)
    return time.perf_counter() - start


class Kettle:
    """A server with the task on it. warm: what its py is told, text or None."""

    def __init__(self, name, task, python, warm):
        self.name = name
        self.box = Box(languages=f'{{py: {{python: "{python}"{f", warm: {warm}" if warm else ""}}}}}')
        self.box.run("leaderboard", "create", "b", "--no-try", "--task", task)
        self.server, _ = start_server(self.box)
        self.number = 0

    def submit(self, code, mode):
        self.number += 1
        file = self.box.write(f"s{self.number}.py", f"{code}# {self.number}\n")
        took, job = self.box.submit(file, "b", mode)
        if job["state"] != "passed":
            raise Cannot(f"it came out as {job['state']} in Kettle: {job['error']}")
        return took, job


def compare(section, module, warm):
    python = interpreter(*([] if module == "bare" else [module]))
    with Box() as box:
        task = box.root / "task"
        code = write_task(task, module)
        kinds = [("Kettle, cold", "false"), ("Kettle, warm", "true")] if warm else [("Kettle", None)]
        kettles = []
        try:
            kettles = [Kettle(name, task, python, ahead) for name, ahead in kinds]
            for kettle in kettles:
                kettle.submit(code, "test")  # the first one starts what stays
            for number in range(rounds(2, 2)):
                progress(f"    {module} {number + 1}")
                for what, mode, modes, halves in (("test", "test", ("test",), 1), ("ranked", "ranked", CASES, 2)):
                    took = drive(python, task, code, box.root / "drive", modes, halves)
                    field = f"{module}, {what}: KernelBot-style driver"
                    section.add(field, took * 1e3)
                    for kettle in kettles:
                        took, job = kettle.submit(code, mode)
                        target = TARGETS.get(module) if what == "ranked" and kettle is kettles[-1] else None
                        section.add(f"{module}, {what}: {kettle.name}", took * 1e3, target=target, beside=field)
                        if what == "ranked":
                            split(section, f"{module}, {what}, {kettle.name}", took, job, RANKED_REST)
        finally:
            # All of them, before it is looked whether anything is left: they share a folder.
            for kettle in kettles:
                stop_server(kettle.server)
            for kettle in kettles:
                kettle.box.__exit__()
    for what in ("test", "ranked"):
        for name, _ in kinds:
            section.ratio(f"{module}, {what}: KernelBot-style driver over {name}", f"{module}, {what}: KernelBot-style driver",
                          f"{module}, {what}: {name}")


# ---- C++ ----

def compiled_cases():
    """The shipped task's cases, as KernelBot writes them: of the benchmarks only the last one counts."""
    text = (TASKS / COMPILED / "task.yml").read_text()

    def rows(key):
        block = re.search(rf"^{key}:\n((?:  - .*\n)+)", text, re.M).group(1)
        return ["; ".join(f"{k}: {v}" for k, v in re.findall(r"(\w+): *(\w+)", line)) + "\n" for line in block.splitlines()]
    return {"test": "".join(rows("tests")), **dict.fromkeys(("benchmark", "leaderboard"), rows("benchmarks")[-1])}


def drive_compiled(task, file, folder, cases):
    start = time.perf_counter()
    define = [f"-D{name}_SECONDS={COMPILED_SECONDS}" for name in ("RANKED", "BENCHMARK")]
    compiler = ["g++", "-std=c++17", "-O3", "-march=native", "-fopenmp", *define, "eval.cpp", "submission.cpp", "-o", "program"]
    for secret in range(2):
        for mode in CASES:
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            for source in (*(task.parent / "harness").glob("*.[ch]*"), *task.glob("*.h")):
                shutil.copy(source, folder)
            shutil.copy(file, folder / "submission.cpp")
            phase(compiler, ["./program"], folder, mode, secret, cases)
    return time.perf_counter() - start


def compare_compiled(section):
    cases = compiled_cases()
    with Box() as box:
        task = shorter(box, COMPILED, COMPILED_SECONDS)
        box.run("leaderboard", "create", "b", "--no-try", "--task", task)
        child, _ = start_server(box)
        box.submit(box.solution(), "b", "test")  # the first one starts what stays
        for number in range(rounds(1, 1)):
            progress(f"    {COMPILED} {number + 1}")
            file = box.write(f"s{number}.cpp", f"{box.solution().read_text()}\n// {number}\n")
            took = drive_compiled(task, file, box.root / "drive", cases)
            section.add(f"{COMPILED}, ranked: KernelBot-style driver", took * 1e3)
            took, job = box.submit(file, "b", "ranked")
            section.add(f"{COMPILED}, ranked: Kettle", took * 1e3)
            split(section, f"{COMPILED}, ranked, Kettle", took, job, RANKED_REST)
        stop_server(child)
    section.ratio(f"{COMPILED}, ranked: KernelBot-style driver over Kettle", f"{COMPILED}, ranked: KernelBot-style driver",
                  f"{COMPILED}, ranked: Kettle")


def compare_python(section):
    if "py" not in plugins():
        raise Cannot("the plugin py was not built")
    warm = wants_warm()
    for module in MAKES:
        try:
            compare(section, module, warm)
        except Cannot as error:
            section.note(f"{module} is left out: {error}.")


def measure(section):
    for part in (compare_compiled, compare_python):
        try:
            part(section)
        except (Cannot, AssertionError, OSError, subprocess.SubprocessError) as error:
            section.note(f"{part.__name__} was left out: {str(error).strip()[-300:]}")
    if not section.data["rows"]:
        raise Cannot("neither C++ nor Python boards work here")
