# SPDX-License-Identifier: MIT
"""Section ready: the first submission with torch.compile after a start, after the idle time in which interpreters are made ready, and
amid it, and the next new one."""
import json
import subprocess
import time

from kettle_test import TASKS as SHIPPED

from measure import Box, Cannot, interpreter, plugins, poll, progress, start_server, stop_server, wants_warm
from kinds import COMPILED
from submissions import fastest, imports, shorter

TASK = "softmax_py"
RECIPE = "torch.compile"
LONG = 3600   # idle seconds that do not come: 0 remembers nothing either
BUDGET = 120  # seconds after which no other kind is begun
FIRST, IDLE, AMID, NEW = "first after a start", "first after idle time", "first while it is made ready", "new"


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


def interpreters(box, *states):
    """The recipes of each interpreter in one of these states."""
    warm = box.json("device", "list")[0]["units"][0].get("warm") or []
    return sorted(process["recipes"] for process in warm if process["state"] in states)


def start(box, idle_seconds):
    box.write(".config/kettle/exec.yml", json.dumps({"locks": str(box.root / "locks"), "cpu_cache": 8 << 20,
                                                     "warm": {"idle_seconds": idle_seconds}}))
    return start_server(box)[0]


def submit(box, name, more=COMPILED, mode="ranked"):
    """The seconds of a submission whose code is new, since no other has this name in it."""
    progress(f"    {name}")
    took, job = box.submit(box.write("s.py", f"{fastest(TASK).read_text()}{more}# {name}\n"), "b", mode)
    if job["state"] != "passed":
        raise Cannot(f"it came out as {job['state']}: {job['error']}")
    return took


def measure_kind(section, box, idle_seconds, *kinds, awaited=None):
    """New submissions to a server that has just started; the recipes of the interpreters that are ready then. awaited: states of
    interpreters, and the recipes of those that must be there before."""
    server = start(box, idle_seconds)
    try:
        if awaited:
            states, recipes = awaited
            begun = time.monotonic()
            poll(lambda: interpreters(box, *states) == recipes, f"interpreters that are {' or '.join(states)}")
            if states == ("ready",):
                section.add("from a start until all are ready", time.monotonic() - begun, unit="s", target="60 s")
        for name in kinds:
            section.add(name, submit(box, name) * 1e3)
        ready = interpreters(box, "ready")
    finally:
        stop_server(server)
    if [RECIPE] not in ready:
        raise Cannot(f"no interpreter has followed the recipe {RECIPE}: {server.log.read_text()[-600:]}")
    return ready


def measure(section):
    if "py" not in plugins() or not wants_warm():
        raise Cannot("this build has no warm interpreters")
    with Box(languages=f'{{py: {{python: "{interpreter(*imports(SHIPPED / TASK))}"}}}}') as box:
        begun = time.monotonic()
        box.own_state()
        box.run("leaderboard", "create", "b", "--no-try", "--task", one_case(shorter(box, TASK, 0.1)))
        try:
            server = start(box, LONG)  # what lasts longer than a server is compiled and read once
            try:
                submit(box, "the first of all", "", "test")
            finally:
                stop_server(server)
            needed = measure_kind(section, box, LONG, FIRST)
            measure_kind(section, box, 1, IDLE, NEW, awaited=(("ready",), needed))
            if time.monotonic() - begun < BUDGET:
                measure_kind(section, box, 1, AMID, awaited=(("ready", "starting"), needed))
            else:
                section.note(f"*{AMID}* is left out: the others took more than {BUDGET} s.")
        except subprocess.SubprocessError as error:
            raise Cannot(str(error)) from error
    section.ratio("the first after idle time, in times of the next new one", IDLE, NEW)
    for kind in (IDLE, AMID):
        section.ratio(f"the {kind}, in times of the first after a start", kind, FIRST)
