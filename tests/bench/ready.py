# SPDX-License-Identifier: MIT
"""Section ready: the first submission after a start, with and without the idle time in which interpreters are made ready,
and the next new one."""
import json
import subprocess

from kettle_test import TASKS as SHIPPED

from measure import Box, Cannot, interpreter, plugins, poll, progress, rounds, start_server, stop_server, wants_warm
from kinds import COMPILED
from submissions import fastest, imports, shorter

SUBMISSIONS = (("identity_py", ""), ("softmax_py", COMPILED))
ROUNDS = 3
LONG = 3600  # idle seconds that do not come: 0 remembers nothing either


def is_ready(box):
    warm = box.json("device", "list")[0]["units"][0].get("warm") or []
    return any(process["state"] == "ready" for process in warm)


def started(box, task, seconds, number):
    """A server that has just started: the seconds of its first submission and of the next one, both new."""
    box.write(".config/kettle/exec.yml", json.dumps({"locks": str(box.root / "locks"), "cpu_cache": 8 << 20, "warm": {"idle_seconds": seconds}}))
    server, _ = start_server(box)
    try:
        if 0 < seconds < LONG:
            poll(lambda: is_ready(box), "an interpreter that is made ready")
        took = []
        for _ in range(2):
            number += 1
            seconds_taken, job = box.submit(box.write("s.py", f"{task}\n# {number}\n"), "b", "ranked")
            if job["state"] != "passed":
                raise Cannot(f"it came out as {job['state']}: {job['error']}")
            took.append(seconds_taken)
        return took
    finally:
        stop_server(server)


def compare(section, task, more):
    code = fastest(task).read_text() + more
    name = task + (", torch.compile" if more else "")
    with Box(languages=f'{{py: {{python: "{interpreter(*imports(SHIPPED / task))}"}}}}') as box:
        box.own_state()
        box.run("leaderboard", "create", "b", "--no-try", "--task", shorter(box, task, 0.1))
        started(box, code, LONG, 0)  # what lasts is compiled and remembered
        for number in range(rounds(ROUNDS, 1)):
            progress(f"    {name} {number + 1}")
            for kind, idle in (("first after a start", 0), ("first after a start and idle time", 1)):
                first, new = started(box, code, idle, 100 * number + 10 * idle + 2)
                section.add(f"{name}: {kind}", first * 1e3)
                section.add(f"{name}: new", new * 1e3)
    section.ratio(f"{name}: first after idle time, in times of a new one", f"{name}: first after a start and idle time", f"{name}: new")


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
