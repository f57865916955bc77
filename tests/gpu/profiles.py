# SPDX-License-Identifier: MIT
"""Profiles by ncu: its reports, its files, what it refused and why."""
import base64
import os
import pathlib
import zipfile

from boards import make_boards, shipped
from engine import Engine, Trouble, message_of, state_of
from spread import file_of

KEPT = 15 << 20  # bytes of the zip
NEEDED = 40  # seconds that the profile of a board with two benchmarks takes: ncu replays each launch some 40 times


def bare(here, section):
    """ncu on a program without Kettle: what this machine allows."""
    program = os.path.join(here.scratch, "looks")
    if not here.ncu or not os.path.exists(program):
        return "ncu was not tried outside of any sandbox: there is no %s" % ("program" if here.ncu else "ncu")
    done = here.commands.run(here.ncu, "-c", "1", "--set", "basic", program, limit=60, cwd=here.scratch)
    said = [line for line in (done.stdout + done.stderr).splitlines() if line.startswith("==")]
    section.note("Outside of any sandbox ncu ended with %s: %s" % (done.status, "; ".join(said[-4:])))
    section.facts["ncu bare"] = done.evidence()
    return done.evidence()


def report_of(run):
    try:
        return base64.b64decode((run.get("result") or {}).get("profile.report", "").replace("*", "/")).decode("utf-8", "replace")
    except ValueError as error:
        return "no report: %s" % error


def one(here, section, engine, task, bare_said, archive):
    """A profile of one board's template."""
    number = engine.submit(task.name, str(file_of(task)), "profile")
    job = engine.wait(number, 150)
    ok = state_of(job) == "passed"
    section.test("%s: a profile ends" % task.name, ok, "" if ok else "%s: %s" % (state_of(job), message_of(job)),
                 **({} if ok else engine.explain(job, task.name, "profile")))
    for run in job.get("runs") or []:
        result = run.get("result") or {}
        trouble, report = result.get("profile.trouble"), report_of(run)
        title = "%s, benchmark %s" % (task.name, run.get("index"))
        section.table(("", ""), [("tool", result.get("profile.tool")), ("trouble", trouble), ("wall", "%.1f s" % (
            (run.get("wall_ns") or 0) / 1e9)), ("report", "%d characters" % len(report))], title)
        if report:
            section.note("~~~\n%s\n~~~" % report[:2500].replace("~~~", ""))
        if not here.ncu:
            section.skip(title, trouble or "there is no ncu")
        elif trouble and "permission" in trouble.lower() or "RestrictProfiling" in (trouble or ""):
            section.skip("%s: ncu" % title, trouble)
        else:
            section.test("%s: ncu reports" % title, not trouble and bool(report), trouble or "", run=run, bare=bare_said,
                         kernel=here.kernel())
    fetch(here, section, engine, task, number, archive)


def fetch(here, section, engine, task, number, archive):
    """Takes the files of a profile along."""
    folder = pathlib.Path(engine.folder) / ("files-%d" % number)
    done = engine.run("submission", "download", str(number), "-o", str(folder), limit=30)
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    section.table(("file", "bytes"), [(path.relative_to(folder), path.stat().st_size) for path in files] or [("none", done.stdout.strip())],
                  "What the profile of %s left" % task.name)
    for path in files:
        if archive.fp.tell() + path.stat().st_size < KEPT:
            archive.write(path, "%s/%s" % (task.name, path.relative_to(folder)))
        if path.suffix == ".ncu-rep" and here.ncu:
            read = here.commands.run(here.ncu, "--import", path, "--page", "raw", "--csv", limit=40)
            section.test("%s: ncu reads %s" % (task.name, path.name), read.ok() and "Kernel Name" in read.stdout,
                         "%d lines" % read.stdout.count("\n"), command=read.evidence())


def look(here, section, share):
    tasks = [task for task in shipped(here, "cu") if task.name == "vectoradd_cuda" or here.args.tasks][:1] if here.nvcc else []
    if here.modules.get("triton", {}).get("works") and here.modules.get("torch", {}).get("available"):
        tasks += [task for task in shipped(here, "py") if task.uses("triton")][:1]
    if not tasks:
        section.skip("profiles", "nothing here runs a board on the GPU")
        return
    bare_said = bare(here, section)
    with Engine(here, "profiles") as engine, zipfile.ZipFile(os.path.join(here.output, "profile.zip"), "w",
                                                             zipfile.ZIP_DEFLATED) as archive:
        for task in make_boards(engine, section, tasks):
            if here.budget.left() < NEEDED:
                section.late.append("%s: a profile, which is given %d s" % (task.name, NEEDED))
                continue
            try:
                one(here, section, engine, task, bare_said, archive)
            except Trouble as trouble:
                section.test("%s: a profile" % task.name, False, trouble, **{**engine.explain(), **trouble.evidence})
