#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""make bench: measures Kettle beside what it is compared with, interleaved, and prints medians, ratios and spread.

Arguments name sections (`make bench SECTIONS="accept board"`); without any all are measured. Raw samples of every section
go to bench.json in the build folder, where a section that is measured again takes the place of what was there, and the
page for people to benchmarks.md beside it (`make update-benchmarks` takes that into the documentation). A section that
cannot be measured says why, and the others go on. KETTLE_BENCH_SECONDS (2) is how long one measurement lasts and scales
repetitions; KETTLE_BENCH_RUNS (20) are the fresh processes of the section scores; KETTLE_BENCH_FOLDER is where results
go instead of the build folder; JIT_TASKS is a folder of tasks for the section jit."""
import json
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import time
import traceback

sys.path.insert(0, os.path.join(os.environ.get("top_srcdir", "."), "tests", "lib"))
import accept  # noqa: E402
import baseline  # noqa: E402
import board  # noqa: E402
import busy  # noqa: E402
import gpu  # noqa: E402
import interpreters  # noqa: E402
import jit  # noqa: E402
import kinds  # noqa: E402
import sandbox  # noqa: E402
import scores  # noqa: E402
import submissions  # noqa: E402
from measure import BUILD, HEAD, SECONDS, Box, Cannot, Section, machine, number_text, progress, table  # noqa: E402


def measure_scores(section):
    """Has a table of its own."""
    with Box() as box:
        (box.root / "scores").mkdir()
        result = scores.measure(box.root / "scores")
    section.data["raw"] = {key: result[key] for key in ("samples", "calibration", "load")}
    section.data["table"] = scores.table(result)
    section.note(f"Load average around the runs of the machine as it is: {scores.load_text(result)}.")


SECTIONS = {
    "sandbox": (sandbox.measure, "Sandbox",
                "A static `true`, from the call to the end, with every protection that the machine has; bubblewrap with "
                "`--unshare-all`, isolate and nsjail with their defaults, where they are installed."),
    "python": (interpreters.measure, "Python to the first line of user code",
               "In the full sandbox, from the start of a run step to the first line after its imports, and from there until "
               "the sandbox is gone and its outputs are taken over. *spawn pool*: of one process, from the call until its "
               "first result is there, in a run that has imported the same."),
    "submit": (submissions.submit, "What Kettle adds to a submission",
               "An unchanged C++ test submission, from the start of `kettle submit` to its end. *queue*: from acceptance until "
               "the runner has it, and the ways there and back; *build*: from the cache; *start*: folders and sandboxes; "
               "*record*: outputs, sandboxes removed, the verdict on disk; *command line*: everything before acceptance and "
               "after the verdict."),
    "start": (submissions.start, "Start and memory", "`kettle serve` with all plugins on an empty database."),
    "accept": (accept.measure, "Submissions accepted",
               "Each is on disk before its answer, over the server's socket; commits that arrive together share a sync."),
    "board": (board.measure, "Boards",
              "The first page (100 places) from the call to the answer, one after the other, while verdicts with their runs are "
              "written as fast as the disk takes them; one user in ten submissions."),
    "jobs": (submissions.jobs, "Jobs a second",
             "Unchanged C++ test submissions that wait together, from the first call to the last verdict, compared with how "
             "long their programs run."),
    "queue": (busy.measure, "Submissions in a queue", busy.__doc__.split(": ", 1)[1]),
    "gpu": (gpu.measure, "Compiling for a GPU", gpu.__doc__.split(": ", 1)[1]),
    "tasks": (submissions.tasks, "Ranked submissions of the shipped tasks",
              "New code each time, through a server, split as above; *run* is the task's own work."),
    "baseline": (baseline.measure, "Beside a driver that works as KernelBot's reference does", baseline.__doc__.split(": ", 1)[1]),
    "jit": (jit.measure, "Submissions that are compiled while they run", jit.__doc__.split(": ", 1)[1]),
    "kinds": (kinds.measure, "Scores of warm and of cold runs",
              "The milliseconds of timed submissions of shipped tasks, by turns in runs that begin as copies of a warm "
              "interpreter and in runs that begin in a fresh one."),
    "scores": (measure_scores, "Scores that repeat",
               "Fresh processes of the harness of C++ boards with one kernel of matmul_cpp, by turns with one that does 1 % more "
               "work; the score is the mean calibrated by the task's own calibrator, beside it the plain mean of the same "
               "calls. A pair is a run of each; it is the wrong way round if the slower kernel does not score worse."),
}


def measure(name):
    """A section's data, whatever happens in it."""
    function, title, about = SECTIONS[name]
    section = Section(name, title, " ".join(about.split()))
    data = section.data
    data.update(when=time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()), load=os.getloadavg()[0], machine=machine(),
                seconds=SECONDS, failed=None)
    progress(f"{name}: {title}")
    start = time.monotonic()
    try:
        function(section)
    except Cannot as error:
        data["failed"] = str(error)
    except (AssertionError, OSError, KeyError, ValueError, subprocess.SubprocessError) as error:
        progress(traceback.format_exc())
        data["failed"] = f"{type(error).__name__}: {str(error).strip()[-500:]}"
    data["took"] = round(time.monotonic() - start, 1)
    progress(f"  {data['took']:.0f} s" + (f"; it could not be measured: {data['failed']}" if data["failed"] else ""))
    return data


def show(data):
    """For a terminal."""
    print(f"\n{data['title']}")
    rows = [HEAD, *table(data)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(HEAD))]
    for row in rows if len(rows) > 1 else []:
        print("  " + "  ".join(cell.ljust(width) if i < 2 else cell.rjust(width)
                               for i, (cell, width) in enumerate(zip(row, widths))).rstrip())
    for text, value in data["ratios"]:
        print(f"  {text}: {number_text(value)}")
    for text in ([data["table"]] if "table" in data else []) + data["notes"]:
        print(f"  {text}")
    if data["failed"]:
        print(f"  It could not be measured: {data['failed']}")


def page_section(data):
    command = f"make bench SECTIONS={data['name']}"
    lines = [f"## {data['title']}", "", data["about"], ""]
    rows = list(table(data))
    if rows:
        lines += ["| " + " | ".join(HEAD) + " |", "|" + "---|" * 2 + "---:|" * (len(HEAD) - 2)]
        lines += ["| " + " | ".join(row) + " |" for row in rows] + [""]
    if "table" in data:
        lines += [data["table"], ""]
    if data["ratios"]:
        lines += ["| ratio of medians | |", "|---|---:|", *(f"| {text} | {number_text(value)} |" for text, value in data["ratios"])]
        lines += [""]
    lines += [line for note in data["notes"] for line in (note, "")]
    if data["failed"]:
        lines += [f"It could not be measured: {data['failed']}", ""]
    lines += [f"`{command}`, {data['when']}, KETTLE_BENCH_SECONDS={data['seconds']:g}, on {data['machine']}; load average "
              f"{data['load']:.1f} when it began.", ""]
    return lines


def beside(data, name):
    """How many times as long KernelBot's way takes, where a row says what that is."""
    row = data["rows"][name]
    other = data["rows"].get(row.get("beside"), {}).get("samples")
    return number_text(statistics.median(other) / statistics.median(row["samples"])) if other else ""


def page_targets(sections):
    """The targets beside the results, from all sections."""
    rows = [[data["title"], *row[:3], row[4], beside(data, row[0])] for data in sections for row in table(data) if row[1]]
    if not rows:
        return []
    return ["## Targets", "", "| section | what | target | median | p99 | KernelBot over it |",
            "|---|---|---|---:|---:|---:|",
            *(f"| {' | '.join(row)} |" for row in rows), ""]


def page_gpu():
    """What came of tests/gpu/run on a machine with a GPU, as it is kept beside it; its headings are a level lower here."""
    kept = pathlib.Path(__file__).resolve().parents[1] / "gpu" / "result.md"
    lines = kept.read_text().strip().splitlines()[2:]
    return ["## On a GPU", "", *("#" + line if line.startswith("#") else line for line in lines), ""]


def page(sections):
    """The page of the documentation."""
    lines = ["# Benchmarks", "",
             "`make bench` and `make update-benchmarks` write this page; do not edit it by hand. At a load average above 0.3 "
             "other programs ran too, and the figures are worse than Kettle's own. *spread* is the distance of the quartiles in "
             "per cent of the median; *target* is the project's goal, for the median unless it says p99. Raw samples are in "
             "bench.json of the build folder.", ""]
    measured = [sections[name] for name in SECTIONS if name in sections]
    lines += page_targets(measured)
    for data in measured:
        lines += page_section(data)
    lines += page_gpu()
    return "\n".join(lines).rstrip() + "\n"


def main():
    # What a section has started ends with it, also when the bench is told to stop.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    wanted = sys.argv[1:] or list(SECTIONS)
    unknown = [name for name in wanted if name not in SECTIONS]
    if unknown:
        sys.exit(f"bench: no section {', '.join(unknown)}; there are {', '.join(SECTIONS)}")
    folder = pathlib.Path(os.environ.get("KETTLE_BENCH_FOLDER", BUILD))
    path = folder / "bench.json"
    try:
        known = json.loads(path.read_text())["sections"]
    except (OSError, ValueError, KeyError):
        known = {}
    for name in wanted:
        known[name] = measure(name)
        show(known[name])
        sys.stdout.flush()
        # What was measured is kept, whatever becomes of the rest.
        path.write_text(json.dumps({"sections": known}, indent=1))
        (folder / "benchmarks.md").write_text(page(known))
    print(f"\nraw samples: {path}; page: {folder}/benchmarks.md")
    sys.exit(1 if any(known[name]["failed"] for name in wanted) else 0)


if __name__ == "__main__":
    main()
