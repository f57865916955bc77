# SPDX-License-Identifier: MIT
"""Section ready: the first submission after a start, before, amid and after the idle time in which interpreters are made
ready, and the next new one."""
import json
import subprocess
import time

from kettle_test import TASKS as SHIPPED

from measure import Box, Cannot, interpreter, plugins, poll, progress, rounds, start_server, stop_server, wants_warm
from kinds import COMPILED
from submissions import fastest, imports, shorter

SUBMISSIONS = (("identity_py", ""), ("softmax_py", COMPILED))
ROUNDS = 3
LONG = 3600  # idle seconds that do not come: 0 remembers nothing either


# The first submission comes: the idle seconds after which interpreters are made ready, and the state of the last one of them then.
KINDS = {"first after a start": (0, None), "first while it is made ready": (1, "starting"), "first after a start and idle time": (10, "ready")}


def one_case(folder):
    """The task with its first test and its first benchmark alone: each further one would be compiled, too, in each run."""
    kept, cases = [], 0
    for line in (folder / "task.yml").read_text().splitlines(keepends=True):
        if not line.startswith((" ", "#")):
            cases = 0 if line.startswith(("tests:", "benchmarks:")) else None
        elif cases is not None and line.startswith("  - "):
            cases += 1
        if not cases or cases == 1:
            kept.append(line)
    (folder / "task.yml").write_text("".join(kept))
    return folder


def states(box):
    warm = box.json("device", "list")[0]["units"][0].get("warm") or []
    return sorted(process["state"] for process in warm if process["state"] != "failed")


def started(box, task, seconds, number, awaited=None):
    """A server that has just started: the seconds of its first submission and of the next one, both new, those until the
    interpreters had the awaited states, and how many interpreters are ready at the end."""
    box.write(".config/kettle/exec.yml", json.dumps({"locks": str(box.root / "locks"), "cpu_cache": 8 << 20, "warm": {"idle_seconds": seconds}}))
    server, _ = start_server(box)
    begun = time.monotonic()
    try:
        if awaited:
            # Those that import little are ready before a look sees them start.
            poll(lambda: states(box) in (awaited, ["ready"] * len(awaited)), f"interpreters that are {' and '.join(awaited)}")
        idle, took = time.monotonic() - begun, []
        for _ in range(2):
            number += 1
            seconds_taken, job = box.submit(box.write("s.py", f"{task}\n# {number}\n"), "b", "ranked")
            if job["state"] != "passed":
                raise Cannot(f"it came out as {job['state']}: {job['error']}")
            took.append(seconds_taken)
        return (*took, idle, states(box).count("ready"))
    finally:
        stop_server(server)


def compare(section, task, more):
    code = fastest(task).read_text() + more
    name = task + (", torch.compile" if more else "")
    with Box(languages=f'{{py: {{python: "{interpreter(*imports(SHIPPED / task))}"}}}}') as box:
        box.own_state()
        box.run("leaderboard", "create", "b", "--no-try", "--task", one_case(shorter(box, task, 0.1)))
        *_, needed = started(box, code, LONG, 0)  # what lasts is compiled and remembered
        for number in range(rounds(ROUNDS, 1)):
            progress(f"    {name} {number + 1}")
            for i, (kind, (seconds, state)) in enumerate(KINDS.items()):
                awaited = ["ready"] * (needed - 1) + [state] if state else None
                first, new, idle, _ = started(box, code, seconds, 100 * number + 10 * i + 2, awaited)
                section.add(f"{name}: {kind}", first * 1e3)
                section.add(f"{name}: new", new * 1e3)
                if state == "ready":
                    section.add(f"{name}: idle time until it is ready", idle, unit="s", target="60 s")
    for kind, below in (("first after a start and idle time", "new"), ("first while it is made ready", "first after a start")):
        section.ratio(f"{name}: {kind}, in times of {below}", f"{name}: {kind}", f"{name}: {below}")


def measure(section):
    if "py" not in plugins() or not wants_warm():
        raise Cannot("this build has no warm interpreters")
    for task, more in SUBMISSIONS:
        try:
            compare(section, task, more)
        except (Cannot, AssertionError, OSError, subprocess.SubprocessError) as error:
            section.note(f"{task} is left out: {str(error).strip()[-300:]}")
    if not section.data["rows"]:
        raise Cannot("no task in Python works here")
