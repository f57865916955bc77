# SPDX-License-Identifier: MIT
"""Section kinds: the same ranked submissions in runs that begin as copies of a warm interpreter and in runs that begin in a
fresh one, by turns, and how far their scores are apart."""
import statistics
import subprocess

from kettle_test import TASKS as SHIPPED

from measure import Box, Cannot, interpreter, plugins, progress, rounds, start_server, stop_server, wants_warm
from submissions import fastest, imports, shorter

TASKS = ("matmul_np", "softmax_py")  # numpy, torch
SECONDS = 1.0                        # that a benchmark lasts: shorter ones would differ by themselves
LEAST = 4                            # scores of each kind that say anything


class Kettle:
    """A server with one shipped task whose runs begin in one way."""

    def __init__(self, name, warm):
        self.box = Box(languages=f'{{py: {{python: "{interpreter(*imports(SHIPPED / name))}", threads: 1, warm: {warm}}}}}')
        try:
            self.box.run("leaderboard", "create", "b", "--no-try", "--task", shorter(self.box, name, SECONDS))
            self.server, _ = start_server(self.box)
            self.score(fastest(name).read_text())  # the first one starts what stays
        except BaseException:
            self.box.__exit__()
            raise

    def score(self, code):
        _, job = self.box.submit(self.box.write("s.py", code), "b", "ranked")
        if job["state"] != "passed":
            raise Cannot(f"it came out as {job['state']}: {job['error']}")
        return job["score"]


def compare(section, name):
    kettles = []
    try:
        kettles = [Kettle(name, warm) for warm in ("false", "true")]
        text = fastest(name).read_text()
        for number in range(rounds(10, LEAST)):
            progress(f"    {name} {number + 1}")
            # Whoever comes second finds another machine: by turns, then.
            for i in (0, 1) if number % 2 == 0 else (1, 0):
                section.add(f"{name}, {('cold', 'warm')[i]}: score", kettles[i].score(f"{text}\n# {number}\n") * 1e3)
    finally:
        # All of them, before it is looked whether anything is left: they share a folder.
        for kettle in kettles:
            stop_server(kettle.server)
        for kettle in kettles:
            kettle.box.__exit__()
    cold, warm = (section.data["rows"][f"{name}, {kind}: score"]["samples"] for kind in ("cold", "warm"))
    apart = 100 * (statistics.median(warm) / statistics.median(cold) - 1)
    halves = [100 * (statistics.median(kind[0::2]) / statistics.median(kind[1::2]) - 1) for kind in (cold, warm)]
    section.note(f"{name}: warm scores are {apart:+.2f} % from cold ones; every other score of one kind is "
                 f"{halves[0]:+.2f} % (cold) and {halves[1]:+.2f} % (warm) from the rest of its kind, which is how much of that "
                 "the machine does by itself.")


def measure(section):
    if "py" not in plugins() or not wants_warm():
        raise Cannot("this build has no warm interpreters")
    for name in TASKS:
        try:
            compare(section, name)
        except (Cannot, AssertionError, OSError, subprocess.SubprocessError) as error:
            section.note(f"{name} is left out: {str(error).strip()[-300:]}")
    section.note("Ranked runs of a board are all of one kind, so no ranking depends on this difference: warm where the board's "
                 "interpreter can be made warm, else cold. A copy that cannot be made is made from another warm process, not "
                 "replaced by a fresh interpreter.")
    if not section.data["rows"]:
        raise Cannot("no task in Python works here")
