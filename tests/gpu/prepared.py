# SPDX-License-Identifier: MIT
"""What it brings that the GPU is open before a run is known (`gpu: prepare` of exec.yml), and that it passes on when it is freed
(`gpu: lease_until`): isolated jobs in a second, the time until the first kernel, ranked submissions, and whether what was killed
leaves memory behind. Each without, in pauses, and beside runs."""
import contextlib
import os
import pathlib
import re
import shutil
import signal
import statistics
import sys
import time

import parts
from boards import Shipped
from commands import descendants
from engine import Engine, Trouble, message_of
from fit import Reader
from spread import file_of

# name of the row → `prepare` and `lease_until`
MODES = {"off": ("off", "ended"), "idle": ("idle", "ended"), "always": ("always", "ended"), "off, freed": ("off", "freed"), "idle, freed": ("idle", "freed")}
RANKED = ("off", "idle", "always", "idle, freed")
JOBS = 30  # in a row, of each mode, at most
FREE = 10  # seconds in which memory of what was killed must be free
SLACK = 64 << 20  # bytes
DRIVER = os.environ.get("STAND_IN_DRIVER")  # folder of a stand-in's driver
PATHS = [DRIVER] if DRIVER else []  # that sandboxes of boards must read
# What a submission for torch does at least: it adds two vectors on the GPU, where torch sees one.
SOURCE = """
import os, sys, time
began = time.monotonic_ns()
torch = sys.modules.get("torch")
if torch is not None and torch.cuda.is_available():
    assert (torch.ones(1 << 20, device="cuda") + torch.ones(1 << 20, device="cuda")).sum().item() == 2 << 20
os.write(int(os.environ["OUT"]), b"began: %d\\nkernel: %d\\n" % (began, time.monotonic_ns()))
"""
# The same of a program, a shared object for kettle-host.
CUDA = r"""
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

__global__ void
add(float *one, const float *other)
{
    one[blockIdx.x * blockDim.x + threadIdx.x] += other[blockIdx.x * blockDim.x + threadIdx.x];
}

static long long
now()
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

int
main()
{
    const long long began = now();
    float *one, *other;
    if (cudaMalloc(&one, 4 << 20) != cudaSuccess || cudaMalloc(&other, 4 << 20) != cudaSuccess)
        return 1;
    add<<<4096, 256>>>(one, other);
    if (cudaDeviceSynchronize() != cudaSuccess)
        return 1;
    dprintf(atoi(getenv("OUT")), "began: %lld\nkernel: %lld\n", began, now());
    return 0;
}
"""


def configured(settings, mode):
    """The settings of kettle-exec for a mode."""
    prepare, until = MODES[mode]
    return {**settings, "gpu": {**settings.get("gpu", {}), "prepare": prepare, "lease_until": until}}


def driver_of(step):
    """A step for which a stand-in's driver is where it finds it."""
    return {**step, "env": {**step.get("env", {}), "LD_LIBRARY_PATH": DRIVER}, "folders": [DRIVER]} if DRIVER else step


def plan_in_cuda(here):
    """A plan of one run of a program, which is built once."""
    sm = "".join(filter(str.isdigit, str(here.gpus[0].get("compute_cap", "")))) or "90"
    build = {"id": "build", "kind": "build", "cache": True, "outputs": ["program"], "inputs": {"main.cu": {"text": CUDA}},
             "argv": [here.nvcc, "-O2", "-gencode=arch=compute_%s,code=sm_%s" % (sm, sm), "-shared", "-Xcompiler=-fPIC", "-Xlinker=--entry=main",
                      "-o", "out/program", "main.cu"]}
    step = {"id": "run", "kind": "run", "device": 1, "host": True, "argv": ["./program"], "result": "OUT", "toolchain": [here.nvcc],
            "inputs": {"program": {"step": "build", "output": "program"}}}
    return {"version": 1, "steps": [build, driver_of(step)]}


def plan(here):
    """A plan of one run, whose interpreter may have torch."""
    python = here.python or sys.executable
    torch = "torch" in here.modules
    step = {"id": "run", "kind": "run", "device": 1, "argv": [python, "main.py"], "inputs": {"main.py": {"text": SOURCE}}, "result": "OUT",
            "env": {"PYTHONNOUSERSITE": "1", "PYTHONHASHSEED": "0"},
            "warm": {"tool": python, "preload": ["torch"] if torch else []}}
    return {"version": 1, "steps": [driver_of(step)]}


class Runner(parts.Exec):
    """kettle-exec with a mode of preparing."""

    def __init__(self, here, what, mode):
        self.usual, self.what, self.mode = here.settings, what, mode
        here.settings = configured(here.settings, mode)
        try:
            super().__init__(here, "prepared-%s-%s" % (what, mode.replace(", ", "-")))
        finally:
            here.settings = self.usual


def jobs(section, runner, work, unit, count, end):
    """[(ms of the job, from the free device to the first kernel, from the program's start, was the GPU open, was it warm)]."""
    found = []
    for _ in range(count):
        began = time.monotonic()
        if began + 5 > end:
            break
        done, said = runner.run(work, unit, max(5, end - began))
        outcome = done["outcomes"][-1] if done and done["outcomes"] else {}
        if outcome.get("state") != "passed":
            section.test("jobs in %s, prepare: %s" % (runner.what, runner.mode), False, outcome.get("error") or "it did not pass", done=done, said=said)
            return []
        free = outcome["stamps"]["queued_ns"]
        found.append(((time.monotonic() - began) * 1e3, (int(outcome["result"]["kernel"]) - free) / 1e6,
                      (int(outcome["result"]["kernel"]) - outcome["start_ns"]) / 1e6, bool(outcome.get("prepared")), bool(outcome.get("warm"))))
    return found[2:]  # the first one makes the interpreter warm


def row(mode, found):
    def median(index):
        return "%.1f" % statistics.median(one[index] for one in found)
    return (mode, len(found), "%.2f" % (1e3 * len(found) / sum(one[0] for one in found)), median(1), median(2),
            "%d" % sum(one[3] for one in found), "%d" % sum(one[4] for one in found))


def is_sandboxed(pid):
    """Whether a process has a number in a sandbox as well."""
    try:
        with open("/proc/%d/status" % pid) as file:
            return any(line.startswith("NSpid:") and len(line.split()) > 2 for line in file)
    except OSError:
        return False


def leaves_nothing(here, section, reader, before, runner):
    """Kills what waits for a run, within its sandbox."""
    for pid in filter(is_sandboxed, descendants(runner.child.pid)):
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGKILL)
    end, used = time.monotonic() + FREE, None
    while time.monotonic() < end:
        used = reader.read().get("used")
        if used is None or used <= before + SLACK:
            break
        time.sleep(0.1)
    section.test("killed processes leave no memory, %s, prepare: %s" % (runner.what, runner.mode), used is None or used <= before + SLACK,
                 "the driver says nothing of memory" if used is None else "%d MiB before, %d MiB after" % (before >> 20, used >> 20))


def many(here, section, share, what, work):
    end, rows, reader = time.monotonic() + share, [], Reader(here)
    unit = {"name": here.device, **{key: value for key, value in here.unit().items() if key == "gpu"}}
    before = reader.read().get("used") or 0
    hosted = work["steps"][-1].get("host", False)
    for number, mode in enumerate(MODES):
        with Runner(here, what, mode) as runner:
            found = jobs(section, runner, work, unit, min(JOBS, here.args.jobs) + 2, time.monotonic() + (end - time.monotonic()) / (len(MODES) - number))
            if not found:
                continue
            rows.append(row(mode, found))
            used = sum(one[3] for one in found)
            section.test("runs in %s find the GPU open, prepare: %s" % (what, mode),
                         used == 0 if MODES[mode][0] == "off" else used > 0 or not (hosted or any(one[4] for one in found)),
                         "%d of %d" % (used, len(found)))
            leaves_nothing(here, section, reader, before, runner)
    section.facts["jobs in " + what] = rows
    section.table(("prepare", "jobs", "jobs a second", "from the free device to the first kernel, ms", "from the program's start, ms", "GPU open", "warm"), rows,
                  "Isolated jobs in a row, each of one run in %s (medians)" % what)


def submitted(section, engine, name, file, mode, end, title):
    """A submission's job when it has passed, and the seconds that it took; else nothing, and a failed test."""
    began = time.monotonic()
    job = engine.wait(engine.submit(name, file, mode), max(5, end - began))
    if job["state"] != "passed":
        section.test(title, False, message_of(job), **engine.explain(job, name))
        return None
    return job, time.monotonic() - began


def ranked_in(here, section, mode, task, end, cache):
    """Three ranked submissions in a row in one kettle serve: the row of its mode. What they compile is in the cache before."""
    name, title = task.name, "%s, prepare: %s" % (task.name, mode)
    with Engine(here, "prepared-%s-%s" % (name, mode.replace(", ", "-")), cache=cache, extra_paths=PATHS) as engine:
        engine.board(name, str(task.folder))
        found = []
        while len(found) < 3:
            found.append(submitted(section, engine, name, str(file_of(task)), "ranked", end, title))
            if not found[-1]:
                return []
    runs = [run for run in found[-1][0]["runs"] if not run["secret"]]  # of the others it is not told
    opened, possible = sum(bool(run.get("prepared")) for run in runs), task.lang == "cu" or any(run["warm"] for run in runs)
    row = (mode, "%.2f" % found[0][1], "%.2f" % min(found[1][1], found[2][1]), "%d of %d" % (opened, len(runs)))
    section.test("runs of %s find the GPU open, prepare: %s" % (name, mode),
                 opened == 0 if MODES[mode][0] == "off" else opened > 0 or not possible, row[3])
    return [row]


def task_of(here, name):
    """A shipped task, whichever --tasks names; with --small a copy of it with little work."""
    if not here.args.small:
        return Shipped(pathlib.Path(here.tasks) / name)
    copies = pathlib.Path(here.scratch) / "small"
    for folder in ("harness", name):
        shutil.copytree(pathlib.Path(here.tasks) / folder, copies / folder, dirs_exist_ok=True)
    task = copies / name / "task.yml"
    text = re.sub(r"size: \d{6,}", "size: 1024", task.read_text())
    task.write_text(text.replace("config:\n", "config:\n  defines: {RANKED_SECONDS: '0.01', BENCHMARK_SECONDS: '0.01'}\n"))
    return Shipped(task.parent)


def ranked(here, section, share, name, lacks):
    """Ranked submissions of a shipped task. lacks: why there can be none, or nothing."""
    if lacks:
        section.skip("ranked submissions of " + name, lacks)
        return
    task = task_of(here, name)
    end, rows, usual = time.monotonic() + share, [], here.settings
    hosts = {"env": {"kettle-host": {"LD_LIBRARY_PATH": DRIVER}}} if DRIVER else {}
    try:
        with Engine(here, "prepared-%s-build" % task.name, extra_paths=PATHS) as builder:  # whose cache the others have: they do not compile
            builder.board(task.name, str(task.folder))
            if not submitted(section, builder, task.name, str(file_of(task)), "test", end, task.name):
                return
        for number, mode in enumerate(RANKED):
            here.settings = configured({**usual, **hosts}, mode)
            now = time.monotonic()
            rows += ranked_in(here, section, mode, task, now + (end - now) / (len(RANKED) - number), builder)
    except Trouble as trouble:
        section.test("ranked submissions of " + task.name, False, trouble, **trouble.evidence)
    finally:
        here.settings = usual
    section.facts["ranked " + task.name] = rows
    section.table(("prepare", "first, s", "later, s", "public runs that found the GPU open"), rows, "Ranked submissions of " + task.name)


def look(here, section, share):
    end = time.monotonic() + share
    many(here, section, share * 0.35, "torch", plan(here))
    if here.nvcc:
        many(here, section, share * 0.25, "CUDA", plan_in_cuda(here))
    else:
        section.skip("isolated jobs in CUDA", "there is no nvcc")
    ranked(here, section, (end - time.monotonic()) / 2, "vectoradd_py",
           "" if here.modules.get("torch", {}).get("available") else "there is no torch for this GPU")
    ranked(here, section, end - time.monotonic(), "vectoradd_cuda", "" if here.nvcc else "there is no nvcc")
