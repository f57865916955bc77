# SPDX-License-Identifier: MIT
"""Section baseline: a task that computes next to nothing, in Kettle and by a driver that does what the field's reference
does: for each of test, benchmark and leaderboard, public and then secret, the submission is run once beforehand and then
the harness in a fresh interpreter, which starts a spawn pool of one. Without sandbox, queue or database."""
import os
import pathlib
import shutil
import socket
import subprocess
import time

from measure import Box, Cannot, interpreter, plugins, progress, rounds, split, start_server, stop_server, wants_warm

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


def phase(python, folder, mode, secret):
    """What the field does for one mode."""
    (folder / "cases.txt").write_text(CASES[mode])
    subprocess.run([python, "submission.py"], cwd=folder, check=True)
    ours, theirs = socket.socketpair()
    env = {**os.environ, "POPCORN_FD": str(theirs.fileno()), **({"POPCORN_SEED": "1234567"} if secret else {})}
    child = subprocess.Popen([python, "eval.py", mode, "cases.txt"], cwd=folder, pass_fds=[theirs.fileno()], env=env)
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
            phase(python, folder, mode, secret)
    return time.perf_counter() - start


class Kettle:
    """A server with the task on it, cold or with its module imported ahead."""

    def __init__(self, name, task, python, warm):
        # The harness of the field knows no other way than the environment and a pool of its own.
        self.name = name
        self.box = Box(languages=f'{{py: {{python: "{python}"{f", warm: {warm}" if warm is not None else ""}}}}}')
        self.box.run("leaderboard", "create", "b", "--task", task)
        self.server, _ = start_server(self.box)
        self.number = 0

    def submit(self, code, mode):
        self.number += 1
        file = self.box.write(f"s{self.number}.py", f"{code}# {self.number}\n")
        took, job = self.box.submit(file, "b", mode)
        if job["state"] != "passed":
            raise Cannot(f"it came out as {job['state']} in Kettle: {job['error']}")
        return took, job

    def close(self):
        try:
            stop_server(self.server)
        finally:
            self.box.__exit__()


def compare(section, module, warm):
    python = interpreter(*([] if module == "bare" else [module]))
    with Box() as box:
        task = box.root / "task"
        code = write_task(task, module)
        kinds = [("Kettle", None)] + ([("Kettle, warm", "[]" if module == "bare" else f"[{module}]")] if warm else [])
        kettles = []
        try:
            kettles = [Kettle(name, task, python, ahead) for name, ahead in kinds]
            for kettle in kettles:
                kettle.submit(code, "test")  # the first one starts what stays
            for number in range(rounds(2, 2)):
                progress(f"    {module} {number + 1}")
                for what, mode, modes, halves in (("test", "test", ("test",), 1), ("ranked", "ranked", CASES, 2)):
                    took = drive(python, task, code, box.root / "drive", modes, halves)
                    section.add(f"{module}, {what}: as the field does it", took * 1e3)
                    for kettle in kettles:
                        took, job = kettle.submit(code, mode)
                        section.add(f"{module}, {what}: {kettle.name}", took * 1e3)
                        if what == "ranked":
                            split(section, f"{module}, {what}, {kettle.name}", took, job)
        finally:
            for kettle in kettles:
                kettle.close()
    for what in ("test", "ranked"):
        for name, _ in kinds:
            section.ratio(f"{module}, {what}: the field over {name}", f"{module}, {what}: as the field does it",
                          f"{module}, {what}: {name}")


def measure(section):
    if "py" not in plugins():
        raise Cannot("the plugin py was not built")
    warm = wants_warm()
    for module in MAKES:
        try:
            compare(section, module, warm)
        except Cannot as error:
            section.note(f"{module} is left out: {error}.")
