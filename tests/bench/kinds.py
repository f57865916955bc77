# SPDX-License-Identifier: MIT
"""Section kinds: the same submissions timed in runs that begin as copies of a warm interpreter and in runs that begin in a
fresh one, by turns, and how far their times are apart. In the mode benchmark, whose one run is timed as a ranked one is."""
import math
import re
import statistics
import subprocess

from kettle_test import TASKS as SHIPPED

from measure import Box, Cannot, interpreter, plugins, progress, rounds, start_server, stop_server, wants_warm
from submissions import fastest, imports, shorter

# Shipped tasks, and what is added to the submission, which then begins with a recipe followed.
COMPILED = "\nimport torch\ncustom_kernel = torch.compile(custom_kernel)\n"
REPEATS = "\nimport torch\ntorch.use_deterministic_algorithms(True)\n"
SUBMISSIONS = (("matmul_np", None, ""), ("matmul_py", None, ""), ("identity_py", None, ""), ("llama_block_py", None, ""),
               ("vectoradd_py", "plain", ""), ("vectoradd_py", "jax_jit", ""), ("softmax_py", None, ""),
               ("softmax_py", None, REPEATS), ("softmax_py", None, COMPILED))
SECONDS = 0.5  # that a benchmark lasts
ROUNDS = 20    # usually
LEAST = 4      # scores of each kind that say anything


class Kettle:
    """A server with one shipped task whose runs begin in one way."""

    def __init__(self, task, code, warm):
        modules = imports(SHIPPED / task) + (["jax"] if "jax" in code else [])
        self.warm = warm
        self.box = Box(languages=f'{{py: {{python: "{interpreter(*modules)}", threads: 1, warm: {str(warm).lower()}}}}}')
        try:
            self.box.run("leaderboard", "create", "b", "--no-try", "--task", shorter(self.box, task, SECONDS))
            self.server, _ = start_server(self.box)
            self.score(code)  # the first one starts what stays, and leaves what it compiled
        except BaseException:
            self.box.__exit__()
            raise

    def score(self, code):
        """The geometric mean of its benchmarks' means, in ms."""
        _, job = self.box.submit(self.box.write("s.py", code), "b", "benchmark")
        if job["state"] != "passed":
            raise Cannot(f"it came out as {job['state']}: {job['error']}")
        if any(run["warm"] != self.warm for run in job["runs"]):
            raise Cannot("a run did not begin as configured")
        means = [float(value) for run in job["runs"] for key, value in run["result"].items()
                 if re.fullmatch(r"benchmark\.\d+\.mean", key)]
        return math.exp(statistics.mean(map(math.log, means))) / 1e6


def compare(section, task, solution, more):
    path = SHIPPED / task / "solutions" / "correct" / f"{solution}.py" if solution else fastest(task)
    code = path.read_text() + more
    name = f"{task}, {path.stem}" + {"": "", COMPILED: ", torch.compile", REPEATS: ", deterministic"}[more]
    kettles = []
    try:
        for warm in (False, True):
            kettles.append(Kettle(task, code, warm))
        for number in range(rounds(ROUNDS, LEAST)):
            progress(f"    {name} {number + 1}")
            # Whoever comes second finds another machine: by turns, then.
            for i in (0, 1) if number % 2 == 0 else (1, 0):
                section.add(f"{name}, {('cold', 'warm')[i]}: score", kettles[i].score(code))
    finally:
        # All of them, before it is looked whether anything is left: they share a folder.
        for kettle in kettles:
            stop_server(kettle.server)
        for kettle in kettles:
            kettle.box.__exit__()
    cold, warm = (section.data["rows"][f"{name}, {kind}: score"]["samples"] for kind in ("cold", "warm"))
    apart = 100 * (statistics.median(warm) / statistics.median(cold) - 1)
    spread = [100 * statistics.stdev(kind) / statistics.mean(kind) for kind in (cold, warm)]
    pairs = [100 * (b / a - 1) for a, b in zip(cold, warm)]
    error = statistics.stdev(pairs) / len(pairs) ** 0.5
    text = (f"{name}: warm scores differ by {apart:+.2f} % from cold ones in {len(pairs)} pairs (mean of the pairs "
            f"{statistics.mean(pairs):+.2f} %, standard error {error:.2f} %); the scores of one kind have a CV of {spread[0]:.2f} % "
            f"(cold) and {spread[1]:.2f} % (warm).")
    progress(f"    {text}")
    section.note(text)


def measure(section):
    if "py" not in plugins() or not wants_warm():
        raise Cannot("this build has no warm interpreters")
    for task, solution, more in SUBMISSIONS:
        try:
            compare(section, task, solution, more)
        except (Cannot, AssertionError, OSError, subprocess.SubprocessError, statistics.StatisticsError) as error:
            section.note(f"{task} is left out: {str(error).strip()[-300:]}")
    section.note("All ranked runs of a board start in the same way, so no ranking depends on this difference: warm if the board's "
                 "interpreter can be made warm, else cold. If a copy fails, another warm process makes one; no fresh interpreter "
                 "takes its place.")
    if not section.data["rows"]:
        raise Cannot("no task in Python works here")
