# SPDX-License-Identifier: MIT
"""Section python: from the start of a run step to the first line of user code, in the full sandbox, cold and (where this
build can) warm, and until nothing of it is left; and how long a run's own spawn pool takes to do its first piece of work."""
import json
import subprocess
import time

from measure import BUILD, Box, Cannot, interpreter, progress, rounds

FIRST_LINE = "{imports}import time\nprint(time.monotonic_ns())\n"
# Of harnesses in KernelBot's form: the work is imported by the pool's process, and with it what the work imports.
POOL = """{imports}import multiprocessing
import time


def work(number):
    return number


if __name__ == "__main__":
    start = time.monotonic_ns()
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        pool.apply(work, (1,))
        print(time.monotonic_ns() - start)
"""
TARGETS = {"bare": ("4 ms", None), "numpy": ("5 ms", None), "torch": ("15 ms", "8 ms")}  # at once; when a copy is ready
GONE = "30 ms"
READY_SECONDS = 0.3  # after a run, until a copy is ready for the next one
# What boards in Python run with; without a fixed hash no copy is as good as a fresh interpreter.
ENVIRONMENT = {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONNOUSERSITE": "1", "PYTHONUNBUFFERED": "1",
               "PYTHONFAULTHANDLER": "1", "PYTHONHASHSEED": "0"}


class Exec:
    """A kettle-exec that runs one plan after the other."""

    def __init__(self, box):
        (box.root / "exec.yml").write_text(json.dumps({"locks": str(box.root / "locks")}))
        self.child = subprocess.Popen(
            [str(BUILD / "kettle-exec"), "--serve", "--state", str(box.root / "exec"), "--config", str(box.root / "exec.yml")],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=box.environment(), start_new_session=True)
        self.hello = json.loads(self.child.stdout.readline())
        self.number = 0

    def run(self, step):
        """The outcome of a plan of one step."""
        self.number += 1
        line = {"op": "run", "job": str(self.number), "plan": {"version": 1, "steps": [{"id": "s", "kind": "run", **step}]}}
        self.child.stdin.write(json.dumps(line) + "\n")
        self.child.stdin.flush()
        while True:
            event = json.loads(self.child.stdout.readline())
            if event["event"] == "done":
                if event["status"] != "done" or event["outcomes"][0]["state"] != "passed":
                    raise Cannot(f"the run failed: {event['error'] or event['outcomes'][0]}")
                return event["outcomes"][0]

    def close(self):
        self.child.stdin.close()
        self.child.wait(60)
        self.child.stdout.close()


def once(section, name, executor, step, target):
    """False: it was to begin warm and did not, and counts for nothing."""
    outcome = executor.run(step)
    if "warm" in step and not outcome.get("warm"):
        return False
    first, stamps = int(outcome["stdout"]["text"].split()[-1]), outcome["stamps"]
    section.add(f"{name}: first line", (first - stamps["launched_ns"]) / 1e6, target=target)
    section.add(f"{name}: sandbox removed", (stamps["ended_ns"] - first) / 1e6, target=target and GONE)
    return True


def compare(section, executor, module):
    imported = [] if module == "bare" else [module]
    python = interpreter(*imported)
    code = FIRST_LINE.format(imports="".join(f"import {name}\n" for name in imported))
    cold = {"argv": [python, "main.py"], "env": ENVIRONMENT, "inputs": {"main.py": {"text": code}}}
    # The hint of a plan; an outcome says whether it was taken.
    warm = {**cold, "warm": {"tool": python, "preload": imported}}
    can = bool(executor.run(warm).get("warm"))
    if not can:
        section.note("Warm interpreters are not in this build, or not for this Python: cold ones alone were measured.")
    for _ in range(rounds(8 if module == "torch" else 20)):
        once(section, f"{module}, cold", executor, cold, None)
        if can:
            executor.run(warm)  # takes the ready copy
            at_once = once(section, f"{module}, warm", executor, warm, TARGETS[module][0])
            time.sleep(READY_SECONDS)
            can = at_once and once(section, f"{module}, warm, one ready", executor, warm, TARGETS[module][1] or TARGETS[module][0])
            if not can:
                section.note(f"{module}: a run that was to begin warm began cold.")
    for kind in ("warm", "warm, one ready"):
        section.ratio(f"{module}: cold over {kind}, to the first line", f"{module}, cold: first line",
                      f"{module}, {kind}: first line")


def compare_pools(section, executor, *imported):
    """Pools of one process, of runs that begin warm and of runs that begin cold."""
    python, named = interpreter(*imported), " and ".join(imported) or "bare"
    code = POOL.format(imports="".join(f"import {name}\n" for name in imported))
    cold = {"argv": [python, "main.py"], "env": ENVIRONMENT, "inputs": {"main.py": {"text": code}}}
    warm = {**cold, "warm": {"tool": python, "preload": list(imported)}}
    kinds = {"cold": cold, "warm": warm} if executor.run(warm).get("warm") else {"cold": cold}
    for _ in range(rounds(8)):
        for kind, step in kinds.items():
            outcome = executor.run(step)
            if outcome.get("warm", False) == (kind == "warm"):
                section.add(f"spawn pool, {named}, {kind}: first work done", int(outcome["stdout"]["text"]) / 1e6)
    section.ratio(f"spawn pool, {named}: cold over warm", f"spawn pool, {named}, cold: first work done",
                  f"spawn pool, {named}, warm: first work done")


def measure(section):
    with Box() as box:
        executor = Exec(box)
        try:
            for imported in ((), ("numpy", "torch")):
                progress(f"    spawn pool, {' '.join(imported) or 'bare'}")
                try:
                    compare_pools(section, executor, *imported)
                except Cannot as error:
                    section.note(f"A spawn pool with {' and '.join(imported)} is left out: {error}.")
            for module in TARGETS:
                progress(f"    {module}")
                try:
                    compare(section, executor, module)
                except Cannot as error:
                    section.note(f"{module} is left out: {error}.")
        finally:
            executor.close()
