# SPDX-License-Identifier: MIT
"""How well scores repeat: six kernels, each in fresh processes by turns with a copy that is 1 % slower, measured by Kettle's
harnesses as a ranked run is. A visit measures three of them and leaves its samples as a file of its own; the table is that of
all visits, those of tests/gpu/samples included."""
import copy
import json
import os
import pathlib
import shutil
import statistics
import time

import parts
import variation
from engine import Engine, Trouble
from spread import known_architecture

AT_ONCE = 3  # kernels of a visit
SLOWER = 0.01
ROUNDS, FAR = 2, 4  # of calibrating runs, and how many times the guess the longer spin is
CYCLES = 1.7  # of a GPU's clock in a nanosecond: for the guess
CALM = "size: %d; steps: 0; products: 0"
# name: board, submission, case, the same for a stand-in
KERNELS = {
    "memory": ("cuda", "submission.cu", CALM % (1 << 26), CALM % 5000),
    "compute": ("cuda", "submission.cu", "size: 262144; steps: 0; products: 20000", "size: 500; steps: 0; products: 20"),
    "latency": ("cuda", "submission.cu", "size: 16777216; steps: 500; products: 0", "size: 5000; steps: 50; products: 0"),
    "short": ("cuda", "submission.cu", CALM % (1 << 20), CALM % 500),
    "library": ("py", "product.py", "kind: product; side: 8192", "kind: product; side: 64"),
    "triton": ("py", "softmax.py", "kind: softmax; side: 16384", "kind: softmax; side: 16"),
}
KEYS = ("mean", "low", "high", "raw-mean")
STATE = "name,driver_version,pstate,clocks.sm,clocks.mem,temperature.gpu,power.draw,%s.active"


def state(here):
    """What nvidia-smi says of the GPU: its clocks, and what slows it down."""
    for word in ("clocks_event_reasons", "clocks_throttle_reasons"):
        query = STATE % word
        done = here.commands.run("nvidia-smi", "--query-gpu=" + query, "--format=csv,noheader", "-i", here.gpus[0]["index"], limit=10)
        if done.ok():
            return dict(zip(query.split(","), (part.strip() for part in done.stdout.splitlines()[0].split(","))))
    return {"error": done.why()}


def sees_gpu(here):
    return bool(here.modules.get("torch", {}).get("available"))


def hindrance(here, name):
    """Why a kernel cannot run here."""
    if KERNELS[name][0] == "cuda":
        return None if here.nvcc and here.vendor == "nvidia" else "there is no nvcc"
    if not sees_gpu(here) and not (here.args.small and "torch" in here.modules):
        return "torch sees no GPU" if "torch" in here.modules else "there is no torch"
    return "there is no Triton that works" if name == "triton" and not here.modules.get("triton", {}).get("works") else None


def chosen(here, section, visits):
    """Those that are named, or those with the fewest samples."""
    found = []
    for name in here.args.kernels or KERNELS:
        why = hindrance(here, name)
        if why:
            section.skip("kernel %s" % name, why)
        else:
            found.append(name)
    return found if here.args.kernels else sorted(found, key=lambda name: variation.count(visits, name))[:AT_ONCE]


class Kernel:
    """A kernel's ranked run, which is given a spin."""

    def __init__(self, here, engine, runner, name, end):
        board, file, real, small = KERNELS[name]
        self.runner, self.case, self.calibration = runner, small if here.args.small else real, ""
        self.unit = {"name": here.device, "sandbox": engine.level, **{key: value for key, value in here.unit().items() if key == "gpu"}}
        folder = pathlib.Path(here.scratch) / "repeat-boards" / board
        if not folder.exists():
            shutil.copytree(pathlib.Path(here.tasks) / "harness", folder.parent / "harness", dirs_exist_ok=True)
            shutil.copytree(pathlib.Path(here.root_of_tests) / "boards" / ("repeat_" + board), folder)
        engine.board("repeat_" + board, str(folder))
        shown = engine.json("leaderboard", "task", "repeat_" + board, "--mode", "ranked", limit=20)
        plan = parts.filled(shown, (folder / file).read_text())
        if not plan:
            raise Trouble("it has no plan: %s" % shown["plans"][0].get("error"), {"plan": shown["plans"][0]})
        steps = [step for step in plan["steps"] if step["kind"] != "run"]
        last = next(step for step in plan["steps"] if step["kind"] == "run" and step["run"]["mode"] == "leaderboard")
        last["needs"] = [step["id"] for step in steps if step["id"] in last.get("needs", [])]
        self.plan, self.steps, self.last = plan, steps, last
        self.calibrators = {}
        self.first = self.run(0, max(10, end - time.monotonic()))  # it compiles

    def run(self, spin, limit):
        """One fresh process: its times in ns, and when it began."""
        began = time.time()
        step = copy.deepcopy(self.last)
        step["cases"]["text"] = "%s; spin: %d; seed: 5\n" % (self.case, spin)
        for process in [step[name] for name in ("referee", "solver") if name in step] or [step]:
            process["env"] = {**process.get("env", {}), "KETTLE_CALIBRATION": self.calibration}
        done, said = self.runner.run({**self.plan, "steps": [*self.steps, step]}, self.unit, limit)
        outcomes = (done or {}).get("outcomes") or [{}]
        if outcomes[-1].get("state") != "passed" or outcomes[-1].get("kind") != "run":
            why = outcomes[-1].get("state") or (done or {}).get("error") or "it had not ended after %.0f s" % limit
            raise Trouble("a run did not pass: %s" % why, {"done": done or said})
        result = outcomes[-1]["result"]
        if self.calibration and result["benchmark.0.calibrated"] != "yes":
            raise Trouble("a run was not calibrated", {"result": result, "calibration": self.calibration})
        for word in result.get("benchmark.0.calibrators", "").split():  # none of a board in Python on a CPU
            self.calibrators.setdefault(word.split("=")[0], []).append(float(word.split("=")[1]))
        throttled = (outcomes[-1].get("device") or {}).get("throttled")
        return {"at": round(began, 2), **{key: float(result["benchmark.0." + key]) for key in KEYS}, "calibrator": result.get("benchmark.0.calibrator", ""),
                "calls": int(result["benchmark.0.runs"]), **({"throttled": throttled} if throttled else {})}

    def calibrate(self, end):
        """Finds the spin that makes it 1 % slower: by what a guess adds, and what a longer one does. Sets the calibrators' times
        to those of these runs, as `kettle device calibrate` would."""
        guess = max(1, round(self.first["mean"] * SLOWER * CYCLES))
        spins, found = (0, guess, FAR * guess), {0: [], guess: [], FAR * guess: []}
        for _ in range(ROUNDS):
            for spin in spins:
                if time.monotonic() < end or not found[spin]:
                    found[spin].append(self.run(spin, max(10, end - time.monotonic()))["mean"])
        self.calibration = " ".join("%s=%.1f" % (name, statistics.median(times)) for name, times in self.calibrators.items())
        base, near, far = (statistics.median(found[spin]) for spin in spins)
        added = near / base - 1, far / base - 1
        slope = (added[1] - added[0]) / (spins[2] - guess)
        spin = guess + (SLOWER - added[0]) / slope if slope > 0 else guess
        spin = round(min(max(spin, guess / FAR), spins[2]))
        return {"spin": spin, "tried": {str(cycles): round(100 * more, 3) for cycles, more in zip(spins[1:], added)}}


def measure(kernel, processes, end, found):
    """By turns fresh processes of the kernel and of its slower copy, until there are enough or the time is over. What was found
    until a run fails stays in `found`."""
    start, longest = time.monotonic(), 0
    found.update(kernel=[], slower=[], calibration=kernel.calibrate(start + (end - start) * 0.3))
    for number in range(processes):
        began = time.monotonic()
        if number > 1 and began + longest > end:
            break
        pair = [kernel.run(spin, max(10, end - time.monotonic())) for spin in (0, found["calibration"]["spin"])]
        found["kernel"].append(pair[0])
        found["slower"].append(pair[1])
        longest = max(longest, time.monotonic() - began)


def keep(here, visit):
    """Leaves the visit's samples as a file, for tests/gpu/samples: a line for each run."""
    text = json.dumps({key: value for key, value in visit.items() if key != "kernels"}, indent=1)[:-2] + ',\n "kernels": {\n'
    text += ",\n".join(' "%s": {"calibration": %s,\n%s}' % (name, json.dumps(found["calibration"]), ",\n".join(
        '  "%s": [\n%s]' % (copy, ",\n".join("   " + json.dumps(row) for row in found[copy])) for copy in ("kernel", "slower")))
        for name, found in visit["kernels"].items()) + "}\n}\n"
    with open(os.path.join(here.output, "samples-%s.json" % visit["began"].replace(":", "")), "w") as file:
        file.write(text)


def look(here, section, share):
    end = time.monotonic() + share
    try:
        visits = variation.kept()
    except (OSError, ValueError) as error:
        section.test("the samples that are kept can be read", False, error)
        visits = []
    names = chosen(here, section, visits)
    if not names:
        return
    visit = {"began": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "gpu": here.gpus[0]["name"], "before": state(here), "kernels": {}}
    languages = here.languages(**({} if sees_gpu(here) else {"interpret": True}))  # Triton, with --small
    with Engine(here, "repeat", device=known_architecture(here), languages=languages) as engine, parts.Exec(here, "repeat-exec") as runner:
        for number, name in enumerate(names):
            if end - time.monotonic() < 5:
                section.late.append("kernel %s" % name)
                continue
            found = {}
            try:
                kernel, now = Kernel(here, engine, runner, name, end), time.monotonic()
                measure(kernel, here.args.processes, now + (end - now) / (len(names) - number), found)
                section.test("kernel %s" % name, True, "%d runs of it and as many of its slower copy" % len(found["kernel"]))
            except (Trouble, LookupError, ValueError) as error:
                section.test("kernel %s" % name, False, "%s: %s" % (type(error).__name__, error), **getattr(error, "evidence", {}),
                             smi=here.smi())
            if not found.get("kernel"):
                continue
            section.note("%s: the slower copy spins for %d cycles: %s." % (name, found["calibration"]["spin"], " and ".join(
                "%s cycles added %s %%" % pair for pair in found["calibration"]["tried"].items())))
            visit["kernels"][name] = found
            visit["after"] = state(here)
            keep(here, visit)
    section.table(("", *visit["before"]), [(when, *visit.get(when, {}).values()) for when in ("before", "after")], "The GPU")
    section.table(variation.COLUMNS, variation.table([visit]), "This visit")
    section.table(variation.COLUMNS, variation.table([*visits, visit]), "All visits whose samples are kept, with this one")
