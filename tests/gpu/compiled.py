# SPDX-License-Identifier: MIT
"""What is compiled while it runs: each kind for the first time, once more, and where its time goes."""
import pathlib
import time

from boards import shipped
from engine import Engine, Trouble, message_of

KINDS = (("plain torch", None, "plain.py"), ("torch.compile", "torch", "compiled.py"), ("Triton", "triton", "triton_kernel.py"),
         ("JAX", "jax", "jax_on_gpu.py"), ("CuPy", "cupy", "cupy_raw.py"))
TIMES = 2  # after the first
AHEAD = ("torch.compile", "Triton")  # what build_without_gpu compiles before the runs


def files_of(here, task):
    """(kind, file) of what the machine's Python can run."""
    own = pathlib.Path(here.root_of_tests) / "submissions" / task.name
    for kind, module, name in KINDS:
        about = here.modules.get(module or "torch", {})
        if "version" in about or about.get("available"):
            yield kind, next(path for path in (own / name, task.folder / "solutions" / "correct" / name) if path.is_file())


def built(runs):
    """What runs built on the device, of all that was there after them, and why: "1 of 3 triton (value)"."""
    found = {}
    for run in runs:
        for one in run.get("built", []):
            device, _, reasons = found.get(one["kind"], (0, 0, []))
            found[one["kind"]] = device + one["device"], one["ready"] + one["device"], sorted({*reasons, *one["reasons"]})
    return ", ".join("%d of %d %s%s" % (device, everything, kind, " (%s)" % " ".join(reasons) if reasons else "")
                     for kind, (device, everything, reasons) in sorted(found.items()))


def judge(here, section, engine, task, kind, file, key=False):
    """Rows of a kind: seconds until the verdict, of each public run, files that compilers left in each, and what was built on the
    device. key: with build_without_gpu."""
    name = kind + (", build_without_gpu" if key else "")
    rows = []
    for number in range(1 + TIMES):
        began = time.monotonic()
        job = engine.judge(task.name, str(file), "ranked", limit=120)
        took = time.monotonic() - began
        runs = [run for run in job["runs"] if not run["secret"]]
        passed = job["state"] == "passed"
        if not section.test("%s, ranked, %s" % (name, "again" if number else "first"), passed, message_of(job),
                            **({} if passed else engine.explain(job, task.name))):
            break
        left = [(run.get("jit") or {}).get("files", 0) for run in runs]
        if number:
            section.test("%s: again nothing is compiled" % name, not any(left), "files: %s" % left)
        rows.append((name, "again" if number else "first", "%.2f s" % took, " ".join("%.2f" % (run["wall_ns"] / 1e9) for run in runs),
                     " ".join(map(str, left)), built(runs), "warm" if all(run.get("warm") for run in job["runs"]) else "cold"))
    return rows


def look_with(here, section, task, key, end):
    """The rows of an engine of its own, in which nothing is compiled yet."""
    rows = []
    with Engine(here, "compiled-ahead" if key else "compiled", languages=here.languages(build_without_gpu=key)) as engine:
        try:
            engine.board(task.name, str(task.folder))
        except Trouble as trouble:
            section.test("a leaderboard of %s" % task.name, False, trouble, **trouble.evidence)
            return rows
        for kind, file in files_of(here, task):
            if key and kind not in AHEAD:
                continue
            if time.monotonic() > end - 10:
                section.late.append(kind + (", build_without_gpu" if key else ""))
                continue
            rows += judge(here, section, engine, task, kind, file, key)
        told = [line for line in pathlib.Path(engine.log).read_text().splitlines() if "warm process" in line]
        section.test("every interpreter follows its recipes%s" % (", build_without_gpu" if key else ""), not told, "; ".join(told))
    return rows


def look(here, section, share):
    end = time.monotonic() + share
    task = next((task for task in shipped(here, "py") if task.name == "vectoradd_py"), None)
    if task is None or not here.modules.get("torch", {}).get("available"):
        section.skip("compiled", "torch sees no GPU")
        return
    rows = []
    for key in (True, False):
        rows += look_with(here, section, task, key, end)
    section.table(("kind", "", "verdict after", "its public runs, s", "files that compilers left in public runs", "built on the device",
                   "began"), rows,
                  "vectoradd_py, ranked: seconds from the submission to its verdict; the first one of a kind waits for its interpreter")
