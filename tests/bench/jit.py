# SPDX-License-Identifier: MIT
"""Section jit: submissions that are compiled while they run, in Kettle and by a driver that starts a fresh interpreter for
each run and keeps the compilers' caches between them. *first*: code that neither has seen; *again*: the same code. With
JIT_TASKS=FOLDER the tasks below that folder in the mode test besides, each with the correct solutions that it brings, or
with its template."""
import json
import os
import pathlib
import shutil
import subprocess
import time
import unittest.mock

from kettle_test import TASKS as SHIPPED, cuda_on_cpu, poll

from baseline import CASES, Kettle, phase, write_task
from measure import Box, Cannot, interpreter, plugins, progress, start_server, stop_server
from submissions import shorter

TASKS = os.environ.get("JIT_TASKS")
SHIPPED_SECONDS = 0.2
GPUS = ("/dev/nvidiactl", "/dev/kfd")
INLINE = "inline C++"
HEADERS, KEY_LEN = 2, 64  # of torch's header, and the length of a cache entry's name
# Of the task of section baseline, whose answer is twice its input. {n} makes a kernel of its own of each.
SUBMISSIONS = {
    "plain torch": ("import torch  # {n}\n\n\ndef custom_kernel(data):\n    return 2 * data\n", "450 ms", "450 ms"),
    INLINE: ('''\
import torch
from torch.utils.cpp_extension import load_inline

source = "torch::Tensor twice(torch::Tensor x) {{ return x * 2; /* {n} */ }}"
module = load_inline("twice_{n}", source, functions=["twice"])


def custom_kernel(data):
    return module.twice(data)
''', "15 s", "800 ms"),
    "torch.compile": ('''\
import torch


@torch.compile
def twice(data):
    return data * (2 + {n}) - data * {n}


def custom_kernel(data):
    return twice(data)
''', "4 s", "2 s"),
}
DETERMINISTIC = "import torch  # {n}\n\ntorch.use_deterministic_algorithms(True)\n\n\ndef custom_kernel(data):\n    return 2 * data\n"


class Driver:
    """Runs a task as such drivers do. A folder of its own holds all that compilers keep. env: what its runs find besides."""

    def __init__(self, python, task, folder, name="submission.py", main="eval.py", cases=CASES, env=None):
        self.python, self.task, self.folder, self.caches = python, task, folder / "run", folder / "caches"
        self.name, self.main, self.cases, self.env = name, main, cases, env or {}

    def submit(self, code, modes, halves):
        """The seconds that it took."""
        self.caches.mkdir(exist_ok=True)
        # The compilers of the build have nothing to do with it.
        own = {key: value for key, value in os.environ.items() if key not in ("CC", "CXX")}
        own.update(self.env, HOME=str(self.caches), TMPDIR=str(self.caches))
        with unittest.mock.patch.dict(os.environ, own, clear=True):
            start = time.perf_counter()
            for secret in range(halves):
                for mode in modes:
                    shutil.rmtree(self.folder, ignore_errors=True)
                    shutil.copytree(self.task, self.folder)
                    (self.folder / self.name).write_text(code)
                    phase([self.python, self.name], [self.python, self.main], self.folder, mode, secret, self.cases)
            return time.perf_counter() - start

    def forget(self):
        shutil.rmtree(self.caches, ignore_errors=True)


def both(section, name, driver, box, code, mode, targets):
    """The same code twice in both: first and again."""
    driver.forget()
    for when, target in zip(("first", "again"), targets):
        progress(f"    {name}, {when}")
        field = f"{name}, {mode}, {when}: a fresh interpreter for each run"
        section.add(field, driver.submit(code, ("test",) if mode == "test" else CASES, 1 if mode == "test" else 2) * 1e3)
        took, job = box.submit(box.write("s.py", code), "b", mode)
        if job["state"] != "passed":
            raise Cannot(f"{name} came out as {job['state']} in Kettle: {job['error']}")
        section.add(f"{name}, {mode}, {when}: Kettle", took * 1e3, target=target, beside=field)
        section.ratio(f"{name}, {mode}, {when}: fresh interpreters over Kettle", field, f"{name}, {mode}, {when}: Kettle")


def wait_for_headers(section, box):
    """kettle-exec makes them after the first job that compiles extensions, beside those that follow."""
    start = time.perf_counter()
    poll(lambda: len([path for path in box.state.glob("shared/cache/*") if len(path.name) == KEY_LEN]) >= HEADERS,
         "torch's precompiled headers")
    section.note(f"torch's precompiled headers were ready {time.perf_counter() - start:.0f} s after the first job that compiled an "
                 "extension; until then such jobs compile without them.")


def compare_torch(section):
    python = interpreter("torch")
    with Box() as box:
        task = box.root / "task"
        code = write_task(task, "torch")
        kettle = Kettle("Kettle", task, python, None)
        try:
            kettle.submit(code, "test")  # the first one starts what stays
            driver = Driver(python, task, box.root)
            number = time.time_ns() % 1000000
            for name, (text, first, again) in SUBMISSIONS.items():
                # What stays for code of its kind is made by a submission before it, as on a board that is in use.
                kettle.submit(text.format(n=number + 1), "test")
                if name == INLINE:
                    wait_for_headers(section, kettle.box)
                both(section, name, driver, kettle.box, text.format(n=number), "ranked", (first, again))
            kettle.submit(DETERMINISTIC.format(n=number + 1), "test")
            both(section, "deterministic torch", driver, kettle.box, DETERMINISTIC.format(n=number), "test", ("250 ms", None))
        finally:
            stop_server(kettle.server)
            kettle.box.__exit__()


def compare_jax(section):
    """Beside the same task with torch, by Kettle alone."""
    python = interpreter("torch", "jax")
    with Box(languages=f'{{py: {{python: "{python}"}}}}') as box:
        box.run("leaderboard", "create", "b", "--no-try", "--task", shorter(box, "vectoradd_py", SHIPPED_SECONDS))
        child, _ = start_server(box)
        for name in ("plain", "jax_jit"):
            text = (SHIPPED / "vectoradd_py" / "solutions" / "correct" / f"{name}.py").read_text()
            for number in range(3):
                took, job = box.submit(box.write("s.py", f"{text}\n# {number}\n"), "b", "ranked")
                if job["state"] != "passed":
                    raise Cannot(f"vectoradd_py/{name} came out as {job['state']}: {job['error']}")
                if number > 0:  # the first one starts what stays
                    section.add(f"vectoradd_py, ranked: {name}", took * 1e3)
        stop_server(child)
    plain, jitted = (section.median(f"vectoradd_py, ranked: {name}") for name in ("plain", "jax_jit"))
    section.note(f"vectoradd_py with jax.jit takes {(jitted - plain) / 1e3:+.2f} s compared with torch (target: 0.5 s).")


def unpack(box, board, folder):
    """The files of a board's task, and what is run of them."""
    bundle = box.json("leaderboard", "task", board)
    for name, contents in bundle["files"].items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(contents["text"])
    tests = "".join("; ".join(f"{key}: {value}" for key, value in case.items()) + "\n" for case in bundle["task"]["tests"])
    return bundle, tests


def submissions(path, bundle):
    """The submissions that a task brings, by name: its correct solutions, else its template."""
    solutions = {f"{path.parent.name}/{file.stem}": file.read_text()
                 for file in sorted(path.parent.glob("solutions/correct/*.py"))}
    templates = [entry["text"] for entry in bundle["templates"].values() if "text" in entry]
    if bundle["task"]["lang"] != "py" or not (solutions or templates):
        raise Cannot("it is not in Python, or has neither solution nor template")
    return solutions or {path.parent.name: templates[0]}


def without_gpu(section):
    """Where there is no GPU: the options of py with which boards for one run on the CPU."""
    if any(os.path.exists(path) for path in GPUS):
        return {}
    section.note("This machine has no GPU: in the tasks of JIT_TASKS, Kettle and the driver run on the CPU what is meant for one.")
    return cuda_on_cpu()


def compare_task(section, python, path):
    options = without_gpu(section)
    env = options.get("env", {})
    with Box(languages=json.dumps({"py": {"python": python, **options}}),
             extra=f"sandbox: {{extra_paths: [{env.get('PYTHONPATH', '')}]}}\n") as box:
        box.run("leaderboard", "create", "b", "--no-try", "--task", path.parent)
        child, _ = start_server(box)
        try:
            bundle, tests = unpack(box, "b", box.root / "task")
            driver = Driver(python, box.root / "task", box.root, bundle["submission"], bundle["task"]["config"]["main"],
                            {"test": tests}, {**env, **({"TRITON_INTERPRET": "1"} if env else {})})
            for name, text in submissions(path, bundle).items():
                number = time.time_ns()
                box.submit(box.write("s.py", f"{text}\n# {number}\n"), "b", "test")  # the first one starts what stays
                both(section, name, driver, box, f"{text}\n# {number + 1}\n", "test",
                     ("3 s" if "torch.compile" in text else "250 ms", None))
        finally:
            stop_server(child)


def measure(section):
    if "py" not in plugins():
        raise Cannot("the plugin py was not built")
    paths = sorted(pathlib.Path(TASKS).rglob("task.yml")) if TASKS else []
    parts = [(function.__name__, lambda function=function: function(section)) for function in (compare_torch, compare_jax)]
    parts += [(str(path.parent), lambda path=path: compare_task(section, interpreter("torch"), path)) for path in paths]
    for name, part in parts:
        try:
            part()
        except (Cannot, AssertionError, OSError, KeyError, json.JSONDecodeError, subprocess.SubprocessError) as error:
            section.note(f"{name} was left out: {str(error).strip()[-300:]}")
    if not section.data["rows"]:
        raise Cannot("nothing here is compiled while it runs")
