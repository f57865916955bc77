# SPDX-License-Identifier: MIT
"""Two processes on one GPU: what a referee and a solver, each in namespaces and with a user of its own, can share, see and do to
each other, and how long a call takes from one to the other and back."""
import os
import re
import time

# part, what it measures: the most wanted first
PARTS = (
    ("processes", "What the two processes are"),
    ("memory", "Device memory passed by descriptor: each step, who sees and may write what, what comes back"),
    ("handover", "A call, µs by the referee's clock: flag there, launch and wait, flag back, snapshot of 1 MiB; delta: the call less "
                 "the kernel's time by events less what an empty call has beside it"),
    ("alone", "A kernel of 3 ms that looks for gaps above 20 µs, beside another process; µs"),
    ("faults", "The solver's faults and what the referee sees of them"),
    ("remains", "What new memory holds after another process"),
    ("cache", "Loads of the solver from its buffer, by what was done since it was read: clocks of a dependent load; µs for all of it"),
    ("host", "A kernel and the host's memory"),
)
QUANTILES = (0, 1, 5, 10, 25, 50, 75, 90, 95, 99, 99.9, 100)
SHOWN = (5, 50, 95, 99, 100)
LIMIT = 30  # seconds of a part, which has a limit of its own before that


def built(here, section):
    """The program, or None."""
    program = os.path.join(here.scratch, "referee")
    source = os.path.join(here.root_of_tests, "referee", "pair.cu")
    sm = re.sub(r"\D", "", str(here.gpus[0].get("compute_cap", ""))) or "90"
    done = here.commands.run(here.nvcc, "-O2", "-std=c++17", "-gencode=arch=compute_%s,code=sm_%s" % (sm, sm), "-o", program, source,
                             limit=60)
    if not section.test("the program of two processes compiles", done.ok(), "" if done.ok() else done.why(), command=done.evidence()):
        return None
    os.chmod(program, 0o755)
    return program


def pairs(text):
    """[(key, value)] in the order in which they were said."""
    return [tuple(line.split(": ", 1)) for line in text.splitlines() if ": " in line]


def quantiles(value):
    """(count, {percent: value}) of a line of quantiles; None of another."""
    if not re.match(r"n=\d+", value):
        return None
    count, *numbers = value[2:].split()
    return int(float(count)), dict(zip(QUANTILES, map(float, numbers)))


def tell(section, part, title, found):
    """A part's tables: what has quantiles, and all else."""
    spread = [(key[len(part) + 1:], *quantiles(value)) for key, value in found if quantiles(value)]
    other = [(re.sub(r"^%s\." % part, "", key), value) for key, value in found if not quantiles(value)
             and not key.startswith("skip.") and key not in ("end", "context", "b.context")]
    if other:
        section.table(("", title), other)
    if spread:
        section.table((title, "n", *("most" if percent == 100 else "%d %%" % percent for percent in SHOWN)),
                      [(key, count, *(values.get(percent) for percent in SHOWN)) for key, count, values in spread])
    section.facts[part] = dict(found)


def run_part(here, section, program, part, title, kind, limit):
    """Runs one part; what it said, by key."""
    done = here.commands.run(program, part, kind, limit=limit, cwd=here.scratch)
    found = pairs(done.stdout)
    said = dict(found)
    if "skip." + part not in said:
        trouble = [value for key, value in found if key in ("trouble", "b.trouble")]
        ok = done.ok() and said.get("end") == part and not trouble
        section.test("%s: it runs to its end" % part, ok, "" if ok else "; ".join(trouble) or done.why(),
                     **({} if ok else {"command": done.evidence(), "kernel": here.kernel(), "smi": here.smi()}))
    for key, value in found:
        if key.startswith("skip."):
            section.skip(key[5:], value)
    tell(section, part, title, found)
    return said


def look(here, section, share):
    end = time.monotonic() + share
    if here.vendor != "nvidia" or not here.nvcc:
        section.skip("two processes", "there is no nvcc")
        return
    program = built(here, section)
    if not program:
        return
    kind = "spaces"
    for part, title in PARTS:
        left = end - time.monotonic()
        if left < 3:
            section.late.append(part)
            continue
        said = run_part(here, section, program, part, title, kind, min(LIMIT, left))
        if said.get("memory.exporter, spaces.importer") == "it has no context":
            section.note("A process in namespaces of its own gets no context here: what follows is of two processes alike.")
            kind = "same"
