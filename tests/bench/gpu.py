# SPDX-License-Identifier: MIT
"""Section gpu: how long a CUDA board's submission takes to compile, beside one nvcc command over harness and submission.
No device is needed: the plans are those of the board, without their run steps, carried out by a kettle-exec."""
import json
import os
import pathlib
import shutil
import subprocess
import time

from kettle_test import EXEC, TASKS

from measure import Box, Cannot, plugins, progress, rounds

PLACES = ("/usr/local/cuda/bin/nvcc", "/opt/cuda/bin/nvcc")
BOARDS = (("vectoradd_cuda", "naive.cu"), ("matmul_cuda", "tensor_cores.cu"))
PATIENCE = 300  # seconds for one job
LAMBDA = "--expt-extended-lambda"  # which KernelBot-compatible boards are compiled with


def compiler():
    found = next((path for path in (shutil.which("nvcc"), *PLACES) if path and os.access(path, os.X_OK)), None)
    if not found:
        raise Cannot("no nvcc on this machine")
    if "cu" not in plugins():
        raise Cannot("the plugin cu was not built")
    return found


class Builder:
    """A kettle-exec with a state folder of its own, to which plans are given without their run steps."""

    def __init__(self, folder):
        folder.mkdir()
        (folder / "exec.yml").write_text(json.dumps({"locks": str(folder / "locks")}))
        self.process = subprocess.Popen([EXEC, "--serve", "--state", folder / "state", "--config", folder / "exec.yml"],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.until(lambda event: event["event"] == "hello" and "tools" in event)

    def until(self, wanted):
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            line = self.process.stdout.readline()
            if not line:
                raise Cannot("kettle-exec ended")
            event = json.loads(line)
            if wanted(event):
                return event
        raise Cannot("kettle-exec does not answer")

    def compile(self, plan):
        """Milliseconds from the plan's receipt to the end of its last step, and the titles of the steps that were not in the
        cache."""
        self.process.stdin.write(json.dumps({"op": "run", "job": "j", "plan": plan}) + "\n")
        self.process.stdin.flush()
        done = self.until(lambda event: event["event"] == "done")
        wrong = [outcome for outcome in done["outcomes"] if outcome["state"] != "passed"]
        if done["status"] != "done" or wrong:
            raise Cannot(f"it does not compile: {json.dumps(wrong or done)[:500]}")
        took = (done["stamps"]["done_ns"] - done["stamps"]["received_ns"]) / 1e6
        return took, [outcome["title"] for outcome in done["outcomes"] if not outcome.get("cached")]

    def close(self):
        self.process.stdin.close()
        self.process.wait(60)
        self.process.stdout.close()


class Board:
    """A board's ranked plan, which any submission's text can be put into."""

    def __init__(self, box, name, solution):
        self.text = (TASKS / name / "solutions" / "correct" / solution).read_text()
        box.run("leaderboard", "create", name, "--no-try", "--task", TASKS / name, "--device", "H100")
        shown = box.json("leaderboard", "task", name, "--mode", "ranked")
        self.files = shown["files"]
        self.submission = shown["submission"]
        self.steps = [step for step in shown["plans"][0]["plan"]["steps"] if step["kind"] == "build"]

    def contents(self, text):
        return {**self.files, self.submission: {"text": text}}

    def plan(self, text):
        return {"version": 1, "files": self.contents(text), "steps": self.steps}

    def command(self, *more):
        """All sources at once, with the flags of the submission's own step."""
        step = next(step for step in self.steps if self.submission in step["argv"])
        argv = step["argv"]
        flags = [word for word in argv[1:argv.index("-c")] if word != LAMBDA]
        sources = [step["argv"][step["argv"].index("-c") + 1] for step in self.steps if "-c" in step["argv"]]
        link = next(step for step in self.steps if step["id"] == "link")["argv"]
        libraries = [word for word in link if word in ("-lcublas",)]
        return [argv[0], *flags, *more, *sources, "-o", "program", *libraries]


def one_command(folder, board, text, *more):
    """Milliseconds that the compiler takes alone, in a folder with all files."""
    shutil.rmtree(folder, ignore_errors=True)
    for name, contents in board.contents(text).items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(contents["text"])
    start = time.perf_counter()
    subprocess.run(board.command(*more), cwd=folder, check=True, stdout=subprocess.DEVNULL)
    return (time.perf_counter() - start) * 1e3


def kettle(section, name, board, folder, number):
    """A first submission on a state folder where nothing is known, a second one, and that one again."""
    builder = Builder(folder / f"builder{number}")
    try:
        first, _ = builder.compile(board.plan(f"{board.text}\n// {number} first\n"))
        second, started = builder.compile(board.plan(f"{board.text}\n// {number} second\n"))
        again, _ = builder.compile(board.plan(f"{board.text}\n// {number} second\n"))
    finally:
        builder.close()
    section.add(f"{name}: first submission", first)
    section.add(f"{name}: second submission", second)
    section.add(f"{name}: same submission again", again, target="100 ms")
    compiled = sum(title.startswith("compile ") for title in started)
    section.add(f"{name}: sources compiled for a ranked submission", compiled, unit="", target="1")
    return second


def measure(section):
    nvcc = compiler()
    with Box(f"{{H100: {{runner: local, sm: 90a}}}}", languages=f'{{cu: {{nvcc: "{nvcc}"}}}}') as box:
        for name, solution in BOARDS:
            board = Board(box, name, solution)
            folder = pathlib.Path(box.root) / name
            folder.mkdir()
            for number in range(rounds(3, 1)):
                progress(f"    {name} {number + 1}")
                text = f"{board.text}\n// {number}\n"
                before = one_command(folder / "command", board, text, LAMBDA)
                section.add(f"{name}: one nvcc command", before)
                least = one_command(folder / "command", board, text)
                section.add(f"{name}: one nvcc command, without the flag for lambdas", least)
                second = kettle(section, name, board, folder, number)
                section.add(f"{name}: second submission over one command", second / before, unit="", target="0.2")
                section.add(f"{name}: the same, over the one without the flag", second / least, unit="")
    version = subprocess.run([nvcc, "--version"], capture_output=True, text=True, check=True).stdout
    section.note(f"{version.strip().splitlines()[-1]}. For sm_90a; nothing is run.")
