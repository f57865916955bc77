# SPDX-License-Identifier: MIT
"""Boards in the form of KernelBot's, as they are: those that lie here, and what --task-folder brings."""
import json
import pathlib
import re
import time

from boards import COLUMNS, Shipped, Work, judge, left_out, run_all
from engine import Engine, Trouble

MOST = 60  # tasks of a folder


def tasks_of(folder):
    """Every task below a folder, by its task.yml."""
    return [Shipped(path.parent) for path in sorted(folder.rglob("task.yml"))][:MOST]


def works_of(here, section, task, board, brought):
    """Solutions, or where there are none the template; of a template only the result is reported."""
    works = [Work(board, path, "test" if path.parent.name == "wrong" else None)
             for kind in ("correct", "wrong") for path in task.solutions(kind)]
    works.sort(key=lambda work: "load_inline" not in work.text)  # whose compiler takes longest, beside the others' runs
    for work in works:
        if re.search("load_inline|import triton", work.text):
            work.mode = "test"
    if not works and brought:
        works = [Work(board, path, "test", "%s/%s" % (board, path.name)) for path in task.templates[:4]
                 if path.suffix in (".py", ".cu")]
        for work in works:
            work.only_told = True
    return [work for work in works if not left_out(here, section, work, [])]


def checked(engine, section, task):
    """Whether Kettle takes it for a task; its language as Kettle says it."""
    done = engine.run("--json", "task", "check", str(task.folder), limit=60)
    try:
        answer = json.loads(done.stdout)["tasks"][0]
    except (ValueError, LookupError):
        answer = {"ok": False, "error": done.why()}
    task.lang = answer.get("lang")
    return section.test("%s is a task" % task.name, answer["ok"], answer.get("error") or "", command=done.evidence())


def hindrance(here, task):
    """Why nothing here runs boards of a task; None: something does."""
    if task.lang not in ("py", "cu"):
        return "nothing here runs boards in %s" % task.lang
    if task.lang == "cu":
        return None if here.nvcc else "there is no nvcc"
    return "torch sees no GPU" if task.uses("torch") and not here.modules.get("torch", {}).get("available") else None


def name_of(task):
    """The leaderboard that the task's own files say they are for, else its folder's name."""
    files = task.solutions("correct") + task.templates
    said = [re.search(r"POPCORN +leaderboard +([\w.-]+)", path.read_text(errors="replace")) for path in files]
    return next((name[1] for name in said if name), re.sub(r"[^\w.-]", "-", task.name)[:50])


def gather(here, section, engine, tasks, brought):
    works = []
    for task in tasks:
        if not checked(engine, section, task):
            continue
        if hindrance(here, task):
            section.skip(task.name, hindrance(here, task))
            continue
        board = name_of(task)
        board = board + ("-%d" % len(engine.boards) if board in engine.boards else "")
        try:
            engine.board(board, str(task.folder))
            works += works_of(here, section, task, board, brought)
        except Trouble as trouble:
            section.test("a leaderboard of %s" % task.name, False, trouble, **trouble.evidence)
    return works


def look(here, section, share):
    end = time.monotonic() + share
    with Engine(here, "field") as engine:
        own = gather(here, section, engine, [Shipped(pathlib.Path(here.root_of_tests) / "boards" / name)
                                             for name in ("field_cuda", "field_py")], False)
        brought = gather(here, section, engine, tasks_of(pathlib.Path(here.args.task_folder)), True) if here.args.task_folder else []
        rows = []
        run_all(engine, own + brought, end - time.monotonic())
        for work in own + brought:
            if getattr(work, "only_told", False):
                if work.job:
                    rows.append((work.title, work.mode, "", work.job["state"], "", "", "", (work.job.get("error") or "")[:200], ""))
                continue
            judge(engine, section, work, rows)
        section.table(COLUMNS, rows)
    if not here.args.task_folder:
        section.skip("tasks from elsewhere", "--task-folder names none")
