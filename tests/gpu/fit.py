# SPDX-License-Identifier: MIT
"""Whether the GPU is fit to score: what its driver says of clocks, throttling, errors and processes when it is idle, while a
kernel runs, and just after; and what Kettle makes of it. The facts are printed for people to judge: an unfit GPU is no failure."""
import json
import os
import time

import beside
from engine import Engine

BUSY = 4  # seconds of kernels before the reading
GONE = 5  # seconds in which an ended process must have left the list; kettle-exec waits as long
FACTS = ("clocks", "clocks_locked", "power_mw", "power_limit_mw", "power_default_mw", "temperature", "throttle", "slowed_ns", "ecc",
         "ecc_corrected", "ecc_uncorrected", "mig", "persistence", "processes")


class Reader:
    """Readings by kettle-gpu of the GPU that the sections use."""

    def __init__(self, here):
        self.here, self.rows, self.times = here, [], []
        self.program = os.path.join(os.path.dirname(here.exec), "kettle-gpu")

    def read(self, moment=None):
        """The GPU's facts, kept for the table if the moment has a name; {}: there are none."""
        done = self.here.commands.run(self.program, limit=15, quiet=True)
        try:
            gpus = json.loads(done.stdout)["gpus"]
        except (ValueError, KeyError, TypeError):
            gpus = []
        gpu = next((one for one in gpus if str(one.get("index")) == str(self.here.gpus[0]["index"])), {})
        if moment:
            self.times.append(done.seconds)
            self.rows.append((moment, *(text(gpu.get(key)) for key in FACTS)))
        return gpu

    def until_gone(self, pid):
        """Seconds until a process is in no reading; None: it stays."""
        began = time.monotonic()
        while time.monotonic() < began + GONE:
            if pid not in pids(self.read()):
                return time.monotonic() - began
        return None


def text(fact):
    return "not said" if fact is None else fact if isinstance(fact, str) else json.dumps(fact, separators=(",", ":"))


def pids(gpu):
    return [process.get("pid") for process in gpu.get("processes") or []]


def while_busy(here, section, reader):
    program, _ = beside.compiled(here, section)
    if not program:
        return
    with beside.Programs(here, program) as maker:
        child = maker.make("init", "context", "prepare", "spin %d" % (2 * BUSY))
        child.until("prepare")
        time.sleep(BUSY)
        gpu = reader.read("busy")
        # In a container with process numbers of its own the driver may say others, or none.
        section.note("While a process of ours used the GPU its number was %d, and the driver listed %s." % (child.pid, pids(gpu) or "none"))
        child.until("spin", 4 * BUSY)
        reader.read("between kernels")
        child.end()
        after = reader.until_gone(child.pid)
        section.test("an ended process leaves the driver's list", after is not None, "" if after is None else "after %.2f s" % after)
        reader.read("after it")


def as_kettle_says(here, section):
    with Engine(here, "fit") as engine:
        found = engine.json("device", "doctor", here.device, "--score", limit=60, quiet=True)
        score = next(iter(found["machines"][0].get("score") or []), {})
        section.facts["device doctor --score"] = score
        # An unfit machine is what this section is to show, not a failure of it.
        section.test("device doctor --score says whether the GPU is fit", "fit" in score and (score["fit"] or bool(score.get("why"))),
                     "fit" if score.get("fit") else "not fit: %s" % score.get("why"))
        if score.get("note"):
            section.note("With each score: %s." % score["note"])


def look(here, section, share):
    end = time.monotonic() + share
    reader = Reader(here)
    gpu = reader.read("idle")
    section.test("kettle-gpu reads the GPU", bool(gpu), "%.2f s" % reader.times[0])
    reader.read("idle, again")
    if here.vendor == "nvidia" and here.nvcc and time.monotonic() + 4 * BUSY < end:
        while_busy(here, section, reader)
    else:
        section.skip("readings of a busy GPU", "there is no nvcc, or no time")
    section.facts["readings"] = reader.rows
    section.table(("fact", *(row[0] for row in reader.rows)),
                  [(name, *(row[number] for row in reader.rows)) for number, name in enumerate(FACTS, 1)], "As the driver says it")
    if here.vendor == "nvidia":
        section.note("nvidia-smi: " + " ".join(here.commands.run(
            "nvidia-smi", "--query-gpu=clocks_event_reasons.active,clocks.sm,clocks.max.sm,ecc.errors.uncorrected.volatile.total,"
            "enforced.power.limit,persistence_mode,mig.mode.current", "--format=csv,noheader", limit=10).stdout.split()))
    as_kettle_says(here, section)
