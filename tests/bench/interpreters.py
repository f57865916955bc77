# SPDX-License-Identifier: MIT
"""Section python: from the start of a run step to the first line of user code, in the full sandbox, cold and (where this
build can) warm, and until nothing of it is left."""
import json
import subprocess

from measure import BUILD, Box, Cannot, interpreter, progress, rounds

FIRST_LINE = "{imports}import time\nprint(time.monotonic_ns())\n"
ASKED = {"bare": "4 ms", "numpy": "5 ms", "torch": "15 ms"}


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


def once(section, name, executor, step, asked):
    outcome = executor.run(step)
    first, stamps = int(outcome["stdout"]["text"].split()[-1]), outcome["stamps"]
    section.add(f"{name}: first line", (first - stamps["launched_ns"]) / 1e6, asked=asked)
    section.add(f"{name}: gone again", (stamps["ended_ns"] - first) / 1e6, asked="30 ms" if asked else None)


def compare(section, executor, module):
    imported = [] if module == "bare" else [module]
    python = interpreter(*imported)
    code = FIRST_LINE.format(imports="".join(f"import {name}\n" for name in imported))
    cold = {"argv": [python, "main.py"], "inputs": {"main.py": {"text": code}}}
    # The hint of a plan; an outcome says whether it was taken.
    warm = {**cold, "warm": {"tool": python, "preload": imported}}
    can = bool(executor.run(warm).get("warm")) or bool(executor.run(warm).get("warm"))
    if not can:
        section.note("Warm interpreters are not in this build, or not for this Python: cold ones alone were measured.")
    for _ in range(rounds(8 if module == "torch" else 20)):
        once(section, f"{module}, cold", executor, cold, None)
        for _ in range(2 if can else 0):
            once(section, f"{module}, warm", executor, warm, ASKED[module])
    section.ratio(f"{module}: cold over warm, to the first line", f"{module}, cold: first line", f"{module}, warm: first line")


def measure(section):
    with Box() as box:
        executor = Exec(box)
        try:
            for module in ASKED:
                progress(f"    {module}")
                try:
                    compare(section, executor, module)
                except Cannot as error:
                    section.note(f"{module} is left out: {error}.")
        finally:
            executor.close()
