# SPDX-License-Identifier: MIT
"""Calibration, how far scores of the same lie apart, and where the time of a run goes."""
import os
import statistics
import time

import parts
from boards import make_boards, shipped
from engine import Engine, Trouble, message_of

CALIBRATION = 90  # seconds that are needed for it to be begun
TIMES = 2  # runs of each kind whose parts are measured
NAMES = ("wait_ns", "build_ns", "prepare_ns", "start_ns", "compile_ns", "run_ns", "collect_ns", "other_ns", "queue_ns", "plan_ns", "transfer_ns",
         "record_ns")


def boards_of(here):
    """The boards that run on a GPU: one that is named before all others."""
    tasks = shipped(here, "cu") if here.nvcc else []
    if here.modules.get("torch", {}).get("available"):
        tasks += [task for task in shipped(here, "py") if task.uses("torch") and not (
            task.uses("triton") and not here.modules.get("triton", {}).get("works"))]
    first = ("vectoradd_cuda", "softmax_triton", "matmul_cuda", "vectoradd_py")
    tasks = [task for task in tasks if task.name != "matmul_cuda" or has_cublas(here)]
    return sorted(tasks, key=lambda task: first.index(task.name) if task.name in first else len(first))


def has_cublas(here):
    toolkit = os.path.dirname(os.path.dirname(os.path.realpath(here.nvcc)))
    return any(os.path.exists(os.path.join(toolkit, folder, "cublas_v2.h")) for folder in (
        "include", "targets/x86_64-linux/include")) or os.path.exists("/usr/include/cublas_v2.h")


def file_of(task):
    return next(iter(path for path in task.templates if path.suffix in (".cu", ".py")), None) or task.solutions("correct")[0]


def known_architecture(here):
    """What makes the plan of a board known before any unit has been described."""
    said = str(here.gpus[0].get("compute_cap", "")).replace(".", "")
    return {"sm": said + ("a" if said in ("90", "100", "103", "120") else "")} if said.isdigit() else {}


def calibrate(section, engine, limit):
    began = time.monotonic()
    try:
        answer = engine.json("device", "calibrate", limit=limit)
    except Trouble as trouble:
        section.test("device calibrate", False, trouble, **{**engine.explain(), **trouble.evidence})
        return
    for unit in answer["units"]:
        ok = unit["state"] == "calibrated"
        section.test("device calibrate", ok, "%s in %.0f s" % (unit.get("error") or "done", time.monotonic() - began),
                     **({} if ok else {"answer": answer, **engine.explain()}))
        rows = [(name, "%.3f ms" % (ns / 1e6), "%.2f %%" % (100 * unit.get("spreads", {}).get(name, 0)))
                for name, ns in (unit.get("names") or {}).items()]
        rows += [("%s: %s" % (board["leaderboard"], name), "%.3f ms" % (ns / 1e6), "") for board in unit.get("boards") or []
                 for name, ns in board["names"].items()]
        section.table(("calibrator", "takes", "runs of the same differ by"), rows, "Calibrators of %s" % unit["unit"])
        for remark in unit.get("remarks") or []:
            section.note("Calibration remarks: %s" % remark)


def first_times(job):
    """mean, low and high of the first benchmark of the public ranked run, ns: low and high are the harness's own claim."""
    result = next(run["result"] for run in job["runs"] if run["mode"] == "leaderboard" and not run["secret"])
    return [float(result.get("benchmark.0." + key) or "nan") for key in ("mean", "low", "high")]


def scores(here, section, engine, tasks, share):
    """The boards in turn, so that what drifts meets all of them."""
    end, jobs, wrong = time.monotonic() + share, {task.name: [] for task in tasks}, set()
    for _ in range(here.runs):
        for task in tasks:
            if task.name in wrong or time.monotonic() > end:
                continue
            job = engine.judge(task.name, str(file_of(task)), "ranked", limit=min(120, max(5, end - time.monotonic() + 20)))
            if job["state"] == "passed" and job.get("score"):
                jobs[task.name].append(job)
            elif not job.get("unended"):
                wrong.add(task.name)
                section.test("%s: its template passes" % task.name, False, message_of(job), **engine.explain(job, task.name))
    rows, times = [], []
    for name, judged in jobs.items():
        if not judged:
            continue
        values = [job["score"] for job in judged]
        median = statistics.median(values)
        claims = [first_times(job) for job in judged]
        middle = statistics.median(mean for mean, _, _ in claims)
        inside = sum(low <= middle <= high for _, low, high in claims)
        rows.append((name, len(values), "%.2f µs" % (median * 1e6),
                     "%.3f %%" % (100 * statistics.stdev(values) / median) if len(values) > 1 else "",
                     "%.3f %%" % (100 * (max(values) - min(values)) / median), "%d of %d" % (inside, len(values)),
                     "%.3f %%" % (50 * statistics.median((high - low) / mean for mean, low, high in claims))))
        spent = {key: statistics.median((job["timing"]["parts"].get(key) or 0) / 1e6 for job in judged) for key in NAMES}
        runs = [statistics.median(run["wall_ns"] / 1e6 for job in judged for run in job["runs"]
                                  if run["mode"] == mode and not run["secret"])
                for mode in ("test", "benchmark", "leaderboard")]
        times.append((name, *("%.1f" % spent[key] for key in NAMES), *("%.0f" % run for run in runs)))
        section.facts["scores of %s" % name] = [{key: job.get(key) for key in ("score", "low", "high", "timing")} for job in judged]
        used = {value for job in judged for run in job["runs"] for key, value in (run.get("result") or {}).items()
                if key.endswith(".calibrator")}
        section.test("%s: its template passes, measured on the GPU" % name, all("cuda" in one for one in used),
                     "%d times, beside %s" % (len(values), ", ".join(sorted(used)) or "no calibrator"))
    section.table(("board", "runs", "median", "standard deviation", "from least to most", "harness's intervals that hold the median",
                   "half an interval"), rows, "Scores of ranked submissions of each board's template")
    section.table(("board", *(key[:-3] for key in NAMES), "test run", "benchmark run", "ranked run"), times,
                  "Where the time of those submissions goes, medians in ms (six runs each, two of each mode)")


def where_it_goes(here, section, engine, tasks, share):
    """A run in the mode test by its lines: in the sandbox, and the same program bare."""
    end, rows = time.monotonic() + share, []
    keys = ("its sandbox", *parts.MOMENTS, "outputs and sandbox away")
    unit = {"name": here.device, "sandbox": engine.level, **{key: value for key, value in here.unit().items() if key == "gpu"}}
    with parts.Exec(here, "parts") as runner:
        for task in tasks:
            if time.monotonic() + 10 > end:
                break
            shown = engine.json("leaderboard", "task", task.name, "--mode", "test", limit=20)
            plan = parts.filled(shown, file_of(task).read_text())
            if not plan:
                section.test("%s: it has a plan" % task.name, False, shown["plans"][0].get("error"), plan=shown["plans"][0])
                continue
            kinds = (("warm", plan), ("cold", cold(plan))) if task.lang == "py" else (("", plan),)
            for kind, made in kinds:
                spent, done = parts.measure(runner, made, unit, TIMES, min(90, max(10, end - time.monotonic())))
                if not spent:
                    section.test("%s: it runs by the protocol" % task.name, False, "it did not pass", done=done)
                    break
                section.test("%s: it runs by the protocol%s" % (task.name, kind and ", " + kind), True)
                rows.append((task.name, "sandbox" + (", " + kind if kind else ""), *("%.1f" % spent[key] if key in spent else ""
                                                                                  for key in keys)))
            if not spent:
                continue
            rows.append(bare_row(here, section, task, done, made, min(60, max(30, end - time.monotonic())), keys))
    section.table(("board", "where", *keys), [row for row in rows if row],
                  "A run in the mode test, ms from the start of the program until…; before that its sandbox is made")


def cold(plan):
    """The plan without what begins warm, the processes of a step with referee and solver included."""
    def without(step):
        return {key: without(value) if key in ("referee", "solver") else value for key, value in step.items() if key != "warm"}
    return {**plan, "steps": [without(step) for step in plan["steps"]]}


def bare_row(here, section, task, done, plan, limit, keys):
    """The same program in the same folder without Kettle; None: it cannot be."""
    step = plan["steps"][-1]
    if "referee" in step:
        section.skip("%s: it runs bare" % task.name, "its referee and its solver run under kettle-exec alone")
        return None
    folder = parts.kept_folder(done, str(len(plan["steps"]) - 1), here.scratch)
    argv = [word for word in step["argv"] if word != ".kettle/run.py"]
    if step.get("host"):  # a shared object
        argv = [os.path.join(os.path.dirname(here.exec), "kettle-host"), *(["--channel", "POPCORN_FD"] if step["host"] == "supervised" else []), *argv]
    env = {**os.environ, **{key: value.replace("out/", folder + "/out/") for key, value in (step.get("env") or {}).items()}}
    env.pop("CUDA_VISIBLE_DEVICES", None)
    found = []
    for number in range(TIMES + 1):
        made = parts.bare(folder, argv, limit, env)
        if isinstance(made, str):
            section.test("%s: it runs bare" % task.name, False, made, argv=argv, folder=os.listdir(folder))
            return None
        found += [made] if number else []
    spent = {key: statistics.median(one[key] for one in found if key in one) for key in found[0]}
    return (task.name, "bare", *("%.1f" % spent[key] if key in spent else "" for key in keys))


def look(here, section, share):
    end = time.monotonic() + share
    tasks = boards_of(here)
    if not tasks:
        section.skip("scores", "nothing here runs a board on the GPU")
        return
    with Engine(here, "spread", device=known_architecture(here) if here.vendor == "nvidia" else {}) as engine:
        tasks = make_boards(engine, section, tasks)
        where_it_goes(here, section, engine, tasks[:4], (end - time.monotonic()) * (0.3 if here.runs else 1))
        if not here.runs:
            section.skip("calibration and scores", "--runs is 0")
            return
        limit = max(CALIBRATION, (end - time.monotonic()) * 0.5)
        if min(end - time.monotonic(), here.budget.left() - 10) > limit:
            calibrate(section, engine, limit)
        else:
            section.late.append("device calibrate, which is given %d s" % CALIBRATION)
        scores(here, section, engine, tasks, end - time.monotonic())
