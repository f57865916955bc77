# SPDX-License-Identifier: MIT
"""Several GPUs: each job has its own, a job of two has two."""
import os
import pathlib
import re
import shutil

from boards import Work, run_all
from engine import Engine, message_of, state_of

JOBS = 8


def pair(here):
    """The program that looks around, as a task of two devices."""
    folder = pathlib.Path(here.scratch) / "pair"
    shutil.copytree(pathlib.Path(here.root_of_tests) / "boards" / "looks_cuda", folder)
    for path in [folder, *folder.iterdir()]:
        os.chmod(path, 0o755)
    text = (folder / "task.yml").read_text()
    text = re.sub(r"^(tests|benchmarks): .*$", r"\1: [{size: 1, world_size: 2}]", text, flags=re.M)
    (folder / "task.yml").write_text(text + "multi_gpu: true\n")
    return folder


def seen(job):
    """The GPUs that a job's run was given, as the runtime got them, and how many it counted."""
    result = next(iter(job.get("runs") or []), {}).get("result") or {}
    return [one for one in result.get("env.CUDA_VISIBLE_DEVICES", "").split(",") if one], result


def look(here, section, share):
    if len(here.gpus) < 2:
        section.skip("several GPUs", "this machine has %d" % len(here.gpus))
        return
    if here.vendor != "nvidia" or not here.nvcc:
        section.skip("several GPUs", "there is no nvcc")
        return
    source = pathlib.Path(here.root_of_tests) / "boards" / "looks_cuda"
    device = {"gpu": None, "units": [{"gpu": gpu["index"]} for gpu in here.gpus]}
    with Engine(here, "several", device=device) as engine:
        engine.board("one", str(source))
        engine.board("two", str(pair(here)))
        works = [Work("two" if number % 4 == 3 else "one", source / "submission.cu", "test") for number in range(JOBS)]
        run_all(engine, works, share)
        rows, used = [], set()
        for work in works:
            if not work.job:
                section.late.append("a job on %s" % work.board)
                continue
            gpus, result = seen(work.job)
            wanted = 2 if work.board == "two" else 1
            ok = state_of(work.job) == "passed" and len(gpus) == wanted
            section.test("a job of %d of %d GPUs" % (wanted, len(here.gpus)), ok, "" if ok else "%s, it was given %s: %s" % (
                state_of(work.job), gpus, message_of(work.job)), **({} if ok else engine.explain(work.job, work.board, "test")))
            used |= set(gpus)
            rows.append((work.board, work.job.get("unit"), ", ".join(gpus), result.get("count"), result.get("nodes-opened")))
        section.test("jobs share the GPUs", len(used) > 1, ", ".join(sorted(used)))
        section.table(("board", "unit", "GPUs", "counted", "nodes"), rows)
