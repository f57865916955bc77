#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""make bench: measures Kettle beside what it is compared with, interleaved, and prints medians, ratios and spread.

Arguments name sections (`make bench SECTIONS="accept board"`); without any all are measured. Raw samples of every section
go to bench.json in the build folder, where a section that is measured again replaces what was there, and the page to
benchmarks.md beside it. `--update` (`make update-benchmarks`) takes these sections into results.json beside this file,
which keeps the others, and writes the documentation's page from it. A section that cannot be measured says why, and the
others go on. KETTLE_BENCH_SECONDS (2) is how long one measurement lasts and scales
repetitions; KETTLE_BENCH_RUNS (20) are the fresh processes of the section scores; KETTLE_BENCH_FOLDER is where results
go instead of the build folder; JIT_TASKS is a folder of tasks for the section jit; KETTLE_KERNELBOT is a folder with KernelBot's
source, and KETTLE_TEST_WEB a Python that its server runs on, for the section web."""
import json
import os
import pathlib
import signal
import subprocess
import sys
import time
import traceback

sys.path.insert(0, os.path.join(os.environ.get("top_srcdir", "."), "tests", "lib"))
sys.path.append(os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(__file__))), "gpu"))
import accept  # noqa: E402
import baseline  # noqa: E402
import board  # noqa: E402
import busy  # noqa: E402
import chat  # noqa: E402
import remote  # noqa: E402
import events  # noqa: E402
import gpu  # noqa: E402
import interpreters  # noqa: E402
import jit  # noqa: E402
import kinds  # noqa: E402
import ready  # noqa: E402
import referee  # noqa: E402
import outgoing  # noqa: E402
import sandbox  # noqa: E402
import scores  # noqa: E402
import sessions  # noqa: E402
import submissions  # noqa: E402
import web  # noqa: E402
import variation  # noqa: E402
from measure import BUILD, HEAD, SECONDS, Box, Cannot, Section, figures, kept, machine, number_text, progress, table  # noqa: E402
from plots import PICTURES  # noqa: E402

TOP = pathlib.Path(__file__).resolve().parents[2]
RESULTS, PAGE = TOP / "tests" / "bench" / "results.json", TOP / "docs" / "benchmarks.md"
ABOUT = ("`make bench` measures, and `make update-benchmarks` writes this page and its plots; do not edit them. A load average "
         "above 0.3 means that other programs ran as well; the figures are then worse than on an idle machine, and only those of "
         "one run compare with each other. *nice* is the priority of what was measured, if it is not 0. *target* is the project's "
         "goal for the median, or for p99 where it says so; *spread* is the distance between the quartiles in per cent of the "
         "median; *n* is the number of samples.")
PLOTS = ("`tests/bench/plots.py` draws these from `tests/bench/results.json`; `make bench-plots` draws them again without "
         "measuring. Each plot shows one run of one section. A dot is a sample; of more than 100 samples 100 are shown, evenly "
         "spaced from the least to the greatest. Of runs whose samples were not kept, a plot shows the median and p95.")


def measure_scores(section):
    """Has a table of its own."""
    with Box() as box:
        (box.root / "scores").mkdir()
        result = scores.measure(box.root / "scores")
    section.data["raw"] = {key: result[key] for key in ("samples", "calibration", "load")}
    section.data["plotted"] = scores.plotted(result)
    section.data["variation"] = {c["condition"]: {"score": c["score_cv"], "plain mean": c["plain_cv"]} for c in result["conditions"]}
    section.data["table"] = scores.table(result)
    section.note(f"Load average before and after the runs on the machine as it is: {scores.load_text(result)}.")


SECTIONS = {
    "sandbox": (sandbox.measure, "Sandbox",
                "The time to run a static `true` in a sandbox, from the call to its end. Kettle's has every protection that the "
                "machine offers; bubblewrap runs with `--unshare-all`, isolate and nsjail with their defaults."),
    "python": (interpreters.measure, "Start of Python runs",
               "In the full sandbox. *first line*: from the start of a run to the first line after its imports. *sandbox "
               "removed*: from there until the sandbox is gone and its outputs are stored. *cold*: a fresh interpreter; "
               "*warm*: a copy of an interpreter that has the modules imported; *one ready*: that copy was made before the run. "
               "*spawn pool*: from the creation of a `multiprocessing` pool of one process to its first result, in a run that "
               "has imported the same modules."),
    "submit": (submissions.submit, "Overhead of a submission",
               "An unchanged C++ submission in the mode test, from the start of `kettle submit` to its end. *overhead* is all "
               "but the run of the program. *queue*: from acceptance until the runner has the job, with the transfers; *build*: "
               "taken from the cache; *start*: folders and sandboxes; *record*: outputs stored, sandboxes removed, the verdict "
               "written to disk; *command line*: what `kettle submit` does before acceptance and after the verdict."),
    "start": (submissions.start, "Start and memory", "`kettle serve` with all plugins and an empty database."),
    "accept": (accept.measure, "Submission rate",
               "Submissions over the server's socket. Each is on disk before it is answered; commits that arrive together share "
               "a sync."),
    "board": (board.measure, "Leaderboard requests",
              "The time to answer a request for the first page (100 places), one request after the other, while verdicts with "
              "their runs are stored as fast as the disk allows. One user for every ten submissions."),
    "web": (web.measure, "The frontend web",
            "Requests over loopback by `web_requests`, and streams read by `web_streams`, small programs in C on the same cores; a board "
            "with a million submissions, of which an answer has 100 places. Reads: 16 connections, the next request of each when its "
            "answer has come. *an event*: from the time that the event itself says until the client has it, so its commit is a part. "
            "*memory*: what the streams add to the resident memory of the engine. *a submission*: from the start of `kettle submit` to "
            "its end, in the mode test with unchanged code; reads *for a user* are computed by the engine. *wait for the loop*: of a "
            "client of the socket that connects every 2 ms; on busy cores most of it is the time that other programs ran. Uploads: 64 "
            "connections; their device is disabled. Requests *a second* beside something are sent at their times, and "
            "the time of one counts from when it was due."),
    "http": (outgoing.measure, "Outgoing HTTP",
             "1,000 requests of a plugin to a server on this machine, 64 at a time on connections that stay open: the CPU that the "
             "sending process takes for one. *each of the first 64*: libcurl is loaded, connections are opened, with their "
             "handshakes. `curl --parallel` includes its start and handshakes, 64 threads of Python's http.client do not. On a "
             "busy machine a stall is the time that other programs ran; the CPU of the same time tells them apart."),
    "events": (events.measure, "Events",
               "The time of the loop for one event, in a process with 5,000 subscriptions to a board."),
    "discord": (chat.measure, "Discord",
                "The bot on the fake Discord (`tests/peers/discord`), a program in Python that runs on the same cores. *first answer*: "
                "from the command to the deferral, as the fake sees it; *all accepted*: until each user sees that the bot has the "
                "file. Kettle has stored each submission by then; the bot of discord.py, on which KernelBot is built, has only read "
                "it. *completion*: the names of leaderboards while a user types, one after the other. *longest wait for the loop*: "
                "for a client of the socket that connects every 2 ms; on busy cores most of it is the time that other programs ran."),
    "runners": (remote.measure, "Remote runners",
                "Jobs of a device on the fake GitHub (`tests/peers/github`), on the app of Modal with a backend on this machine, on a real "
                "Slurm of one node and on a real sshd. *until it is there*: from acceptance until the remote side has the job (on Slurm: "
                "until it runs); *from its end to the verdict*: until the verdict is stored. *jobs in flight* and *submissions a second*: on "
                "a stand-in of Slurm's commands with 1,000 nodes, where jobs end with a result that was made before (after 2 s for the "
                "latter), so that only the engine is measured; the commands run on the same cores."),
    "jobs": (submissions.jobs, "Jobs per second",
             "Unchanged C++ submissions in the mode test that are queued together, from the first call to the last verdict."),
    "queue": (busy.measure, "Queue",
              "Four different C++ submissions are queued for one device. It keeps one core for its runs; the other cores compile."),
    "gpu": (gpu.measure, "Compiling for a GPU",
            "The time to compile a submission of a CUDA task, compared with one nvcc command that compiles harness and submission. This "
            "needs no GPU: a kettle-exec executes the task's plans without their runs."),
    "tasks": (submissions.tasks, "Ranked submissions of the shipped tasks",
              "New code each time, through a server, with the parts of *Overhead of a submission*. *run* is the task's "
              "own work."),
    "baseline": (baseline.measure, "Compared with a KernelBot-style driver",
                 "A task that computes next to nothing, in Kettle and by a driver that does what KernelBot's reference "
                 "implementation does: for each of test, benchmark and leaderboard, public and then secret, it runs the "
                 "submission once and then the harness in a fresh interpreter, which starts a spawn pool of one process. The "
                 "driver has no sandbox, queue or database. `vectoradd_cpp` is a shipped C++ task, which the driver compiles "
                 "before each run. Driver and Kettle take turns."),
    "jit": (jit.measure, "Compilation at run time",
            "In Kettle, and by a driver that starts a fresh interpreter for each run and keeps the compilers' caches between "
            "runs. *first*: code that is new to both; *again*: the same code. `JIT_TASKS=FOLDER` adds the tasks in that folder "
            "in the mode test, each with its correct solutions or its template."),
    "kinds": (kinds.measure, "Scores of warm and cold runs",
              "The times of submissions to shipped tasks, by turns in runs that start as a copy of a warm interpreter and in runs "
              "that start a fresh one."),
    "ready": (ready.measure, "The first submission after a start",
              "Ranked submissions of softmax_py with torch.compile, one test and one benchmark, each with new code. *first after a "
              "start*: at once, when no interpreter is ready, and none is made ready without a submission. *first after idle time*: when "
              "all that earlier submissions used are ready again. *new*: the next one after that. *first while it is made ready*: when "
              "the last of these interpreters is being started."),
    "referee": (referee.measure, "Referee and solver",
                "Python boards on CPU devices, on one core. *hand-over*: from the word to begin to the answer, between two processes by pipes, nothing "
                "else; *empty call*: the harness's driver calls a kernel that does nothing; *echo*: what is taken off each call; *in the loop*: other "
                "work, as a check, comes before each. *in one process*: the same kernel, called by a loop with fresh inputs that are flushed from "
                "the caches. *KernelBot's form*: a harness in a spawn pool that does all in the submission's process. *a test case*: what each "
                "test adds to a run. *by its honest twin's*: of hostile submissions that pass (`tests/attacks/py`) and one that does the same "
                "work of 3 ms and nothing else, by turns; below 1 it has gained. On a busy machine the best calls still compare."),
    "sessions": (sessions.measure, "Reproducibility of scores by sessions",
                 "Ranked submissions of one kernel to boards in Python, on a calibrated device of one core. The score is plain: the "
                 "median of sessions, each a fresh process, of calls during which the machine was calm."),
    "scores": (measure_scores, "Reproducibility of scores",
               "Fresh processes of the C++ harness with one kernel of matmul_cpp, by turns with a kernel that does 1 % more work. "
               "The score is the mean, calibrated by the task's own calibrator; the plain mean is that of the same calls. A pair "
               "is one run of each kernel; its order is wrong if the slower kernel does not score worse."),
}


def measure(name):
    """A section's data, whatever happens in it."""
    function, title, about = SECTIONS[name]
    section = Section(name, title, " ".join(about.split()))
    data = section.data
    data.update(when=time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()), load=os.getloadavg()[0], machine=machine(),
                seconds=SECONDS, nice=os.nice(0), failed=None)
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
    progress(f"  {data['took']:.0f} s" + (f"; measurement failed: {data['failed']}" if data["failed"] else ""))
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
        print(f"  The measurement failed: {data['failed']}")


def page_section(data):
    _, title, about = SECTIONS[data["name"]]
    lines = [f"## {title}", "", about, ""]
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
        lines += [f"The measurement failed: {data['failed']}", ""]
    lines += [run_text(data), ""]
    return lines


def run_text(data):
    """Where the figures of a section come from."""
    return (f"`make bench SECTIONS={data['name']}`, {data['when']}, KETTLE_BENCH_SECONDS={data['seconds']:g}, on {data['machine']}; "
            f"load average {data['load']:.1f} at the start" + (f", nice {data['nice']}." if data.get("nice") else "."))


def beside(data, name):
    """How many times as long KernelBot's way takes, where a row says what that is."""
    row = data["rows"][name]
    other = data["rows"].get(row.get("beside"))
    other = figures(other) if other else None
    return number_text(other["median"] / figures(row)["median"]) if other else ""


def page_targets(sections):
    """The targets beside the results, from all sections."""
    rows = [[SECTIONS[data["name"]][1], *row[:3], row[4], beside(data, row[0])] for data in sections for row in table(data) if row[1]]
    if not rows:
        return []
    return ["## Targets", "", "| section | what | target | median | p99 | KernelBot-style driver / Kettle |",
            "|---|---|---|---:|---:|---:|",
            *(f"| {' | '.join(row)} |" for row in rows), ""]


def page_plots(sections):
    """The pictures of plots.py, each with the run that it shows."""
    lines = []
    for name, (file, alt) in PICTURES.items():
        if name in sections and not sections[name]["failed"]:
            lines += [f"![{alt}](pictures/{file})", "", run_text(sections[name]), ""]
    return ["## Plots", "", PLOTS, "", *lines] if lines else []


REPEAT = ("Fresh processes of six kernels by turns with a copy of each that is 1 % slower, by Kettle's harnesses (`make bench-gpu`; "
          "the samples of all visits are in `tests/gpu/samples`). The time is the score, calibrated in each visit; the plain mean is that "
          "of the same calls. Neighbors are a run and the run of the slower copy behind it; all pairs, and those of runs of the same program "
          "that *resubmitted* compares, are of all visits.")


def page_repeat():
    """How well scores repeat on a GPU, by the samples that are kept."""
    rows = variation.table(variation.kept())
    lines = ["### Reproducibility of scores on a GPU", "", REPEAT, ""]
    if not rows:
        return [*lines, "Not measured on a GPU yet. The goals: resubmitted within 0.3 % (median) and 1 % (95th percentile), a copy that is 1 % slower in "
                "the wrong order in at most 1 % of the pairs. Published elsewhere, for one card, remote against local: 0.425 % and 3.136 %.", ""]
    return [*lines, "| %s |" % " | ".join(variation.COLUMNS), "|---|---|" + "---:|" * (len(variation.COLUMNS) - 2),
            *("| %s |" % " | ".join(map(str, row)) for row in rows), ""]


def page_gpu():
    """The results of tests/gpu/run on a machine with a GPU, which are kept beside it; their headings are a level lower here."""
    result = pathlib.Path(__file__).resolve().parents[1] / "gpu" / "result.md"
    lines = result.read_text().strip().splitlines()[2:]
    return ["## On a GPU", "", *page_repeat(), *("#" + line if line.startswith("#") else line for line in lines), ""]


def page(sections):
    """The page of the documentation."""
    lines = ["# Benchmarks", "", ABOUT, ""]
    lines += page_plots(sections)
    measured = [sections[name] for name in SECTIONS if name in sections]
    lines += page_targets(measured)
    for data in measured:
        lines += page_section(data)
    lines += page_gpu()
    return "\n".join(lines).rstrip() + "\n"


def stored(data):
    """A section as it is stored with the page, without most of its samples."""
    return {**{key: value for key, value in data.items() if key not in ("raw", "title", "about")},
            "rows": {name: kept(row) for name, row in data["rows"].items()}}


def read_sections(path):
    try:
        return json.loads(path.read_text())["sections"]
    except (OSError, ValueError, KeyError):
        return {}


def write_results(path, sections):
    """With a line for each row, so that a difference can be read."""
    def members(value, indent, depth):
        if depth == 0 or not isinstance(value, dict):
            return json.dumps(value, ensure_ascii=False)
        inner = (f"{indent} {json.dumps(key, ensure_ascii=False)}: {members(item, indent + ' ', depth - 1)}" for key, item in value.items())
        return "{\n" + ",\n".join(inner) + f"\n{indent}}}"
    path.write_text(members({"sections": sections}, "", 4) + "\n")


def update(folder):
    """Takes what was measured into the results that are kept, and writes the documentation's page from them."""
    sections = {**read_sections(RESULTS), **{name: stored(data) for name, data in read_sections(folder / "bench.json").items()}}
    write_results(RESULTS, {name: sections[name] for name in SECTIONS if name in sections})
    PAGE.write_text(page(sections))
    print(f"results: {RESULTS}; page: {PAGE}")


def main():
    # What a section has started ends with it, also when the bench is told to stop.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    folder = pathlib.Path(os.environ.get("KETTLE_BENCH_FOLDER", BUILD))
    if sys.argv[1:] == ["--update"]:
        return update(folder)
    wanted = sys.argv[1:] or list(SECTIONS)
    unknown = [name for name in wanted if name not in SECTIONS]
    if unknown:
        sys.exit(f"bench: no section {', '.join(unknown)}; there are {', '.join(SECTIONS)}")
    path = folder / "bench.json"
    known = read_sections(path)
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
