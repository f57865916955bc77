# SPDX-License-Identifier: MIT
"""What the sections of the bench share: samples with their medians and spread, progress, servers and their sockets."""
import json
import os
import pathlib
import re
import socket
import statistics
import sys
import time

from kettle_test import BUILD, KETTLE, Scratch, poll, pythons

SECONDS = float(os.environ.get("KETTLE_BENCH_SECONDS", "2"))
KEPT = 100  # samples of a row that are stored with the page
SUBMIT_LIMIT = 900  # seconds until a submission is given up: a guard
TOOLS = BUILD / "tests" / "bench"


class Cannot(Exception):
    """A section, or a part of one, that cannot be measured here: says why."""


def progress(text):
    print(text, file=sys.stderr, flush=True)


def rounds(number, least=3):
    """So many repetitions at the usual KETTLE_BENCH_SECONDS, fewer or more at others."""
    return max(least, round(number * SECONDS / 2))


def quantile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


class Section:
    """The rows of one table, and what is said below it. Everything in it can be written as JSON."""

    def __init__(self, name, title, about):
        self.data = {"name": name, "title": title, "about": about, "rows": {}, "ratios": [], "notes": []}

    def row(self, name, unit="ms", target=None, beside=None):
        return self.data["rows"].setdefault(name, {"unit": unit, "target": target, "beside": beside, "samples": []})

    def add(self, name, *values, unit="ms", target=None, beside=None):
        """target: what the median (where it begins with p99, that) is to reach, as text; beside: the row of the same work
        done as KernelBot does it."""
        self.row(name, unit, target, beside)["samples"] += [round(float(value), 6) for value in values]

    def timed(self, name, fn, target=None):
        start = time.perf_counter()
        result = fn()
        self.add(name, (time.perf_counter() - start) * 1e3, target=target)
        return result

    def note(self, text):
        if text not in self.data["notes"]:
            self.data["notes"].append(text)

    def median(self, name):
        samples = self.data["rows"].get(name, {}).get("samples")
        return statistics.median(samples) if samples else None

    def ratio(self, text, above, below):
        """How many times one row's median is another's, where there are both."""
        a, b = self.median(above), self.median(below)
        if a and b:
            self.data["ratios"].append([text, a / b])


def number_text(value):
    return f"{value:,.0f}" if value >= 1000 else f"{value:.1f}" if value >= 100 else f"{value:.2f}"


def figures(row):
    """What a row's samples come to: n, median and, where there are enough, p95, p99 and the spread in per cent. None: it
    has no samples. A row that was kept without all of its samples has its figures."""
    samples = row["samples"]
    if "figures" in row or not samples:
        return row.get("figures")
    median = statistics.median(samples)
    found = {"n": len(samples), "median": median}
    if len(samples) >= 5:
        found["p95"] = quantile(samples, 0.95)
        found["spread"] = 100 * (quantile(samples, 0.75) - quantile(samples, 0.25)) / median if median else None
    if len(samples) >= 100:
        found["p99"] = quantile(samples, 0.99)
    return found


def kept(row):
    """A row as it is stored with the page: its figures, and of many samples some, at even distances in ascending order."""
    samples = row["samples"]
    if len(samples) > KEPT:
        samples = [sorted(samples)[round(i * (len(samples) - 1) / (KEPT - 1))] for i in range(KEPT)]
    rounded = {key: float(f"{value:.6g}") for key, value in (figures(row) or {}).items() if value is not None}
    return {**row, "samples": samples, "figures": {**rounded, "n": figures(row)["n"]} if rounded else None}


def table(data):
    """The rows of a section's data as cells: name, target, median, p95, p99, spread, n."""
    for name, row in data["rows"].items():
        found, unit = figures(row), f" {row['unit']}" if row["unit"] else ""
        if not found:
            continue
        cells = [number_text(found[key]) + unit if key in found else "" for key in ("median", "p95", "p99")]
        yield [name, row["target"] or "", *cells, f"{found['spread']:.0f} %" if found.get("spread") is not None else "",
               str(found["n"])]


HEAD = ["what", "target", "median", "p95", "p99", "spread", "n"]


def machine():
    text = pathlib.Path("/proc/cpuinfo").read_text()
    model = re.search(r"^model name\s*: (.*)$", text, re.M)
    return f"{model.group(1) if model else 'an unknown processor'}, {len(os.sched_getaffinity(0))} cores"


# ---- what is measured ----

def plugins():
    """The plugins that were built."""
    return sorted(path.stem for path in (BUILD / "plugins").glob("*.so"))


def wants_warm():
    """Whether the language py of this build can be told what to import ahead."""
    if "py" not in plugins():
        return False
    with Box(languages="{py: {}}") as box:
        return '"warm"' in box.run("plugin", "info", "py", "--json").stdout


def interpreter(*modules):
    """The Python of the boards; Cannot, where it does not import all of these."""
    lacking = [module for module in modules if not pythons.has(module)]
    if lacking:
        raise Cannot(f"{pythons.boards()} has no {' and no '.join(lacking)}")
    return pythons.boards()


class Box(Scratch):
    """A scratch folder for a `with`: programs, configuration and database of one measurement."""

    def __init__(self, devices="{CPU: {runner: local}}", languages="{cpp: {}}", extra=""):
        super().__init__(devices, extra)
        text = self.config.read_text().replace("languages: {cpp: {}}", f"languages: {languages}")
        self.config.write_text(text)

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        try:
            self.close()
        except AssertionError as error:
            progress(f"  {error}")

    def timing(self, submission):
        """The only job of a submission, once the time until its verdict was stored is known."""
        def look():
            job = self.json("submission", "show", submission)["jobs"][0]
            return job if "record_ns" in ((job["timing"] or {}).get("parts") or {}) else None
        return poll(look, "the timing of a submission")

    def submit(self, file, board, mode):
        """Submits and waits; the seconds from the start of the program to its end, and the job."""
        start = time.perf_counter()
        answer = self.json("submit", file, "--leaderboard", board, "--mode", mode, timeout=SUBMIT_LIMIT)
        took = time.perf_counter() - start
        return took, self.timing(answer["id"])


RANKED_REST = "secret runs and command line"
PARTS = (("queue", ("earlier", "queue", "plan", "transfer")), ("build", ("build", "prepare")), ("start", ("wait", "start")),
         ("run", ("run",)), ("record", ("collect", "other", "record")))


def split(section, name, took, job, rest="command line"):
    """The five parts of a submission, and what its command line needed besides. Parts: those of `submission show
    --timing`, some of them together. These leave out secret runs, which are in `rest`."""
    parts = job["timing"]["parts"]
    known = 0
    for part, keys in PARTS:
        ms = sum(parts.get(f"{key}_ns", 0) for key in keys) / 1e6
        known += ms
        section.add(f"{name}: {part}", ms)
    section.add(f"{name}: {rest}", took * 1e3 - known)
    return parts["run_ns"] / 1e6


class Client:
    """A connection to the database's socket."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(str(path))
        self.file = self.socket.makefile("rwb")
        self.hello = json.loads(self.file.readline())
        self.id = 0

    def line(self, command, args, user="bench"):
        """A call as it goes over the socket."""
        self.id += 1
        return json.dumps({"id": self.id, "call": command, "args": args,
                           "actor": {"provider": "cli", "subject": user, "name": user}}).encode() + b"\n"

    def call(self, command, args, user="bench"):
        self.file.write(self.line(command, args, user))
        self.file.flush()
        answer = json.loads(self.file.readline())
        if "result" not in answer:
            raise Cannot(f"{command}: {answer}")
        return answer["result"]

    def close(self):
        self.file.close()
        self.socket.close()


def start_server(box, env=None):
    """Starts kettle serve; the process, and the seconds until it greets a client."""
    start = time.perf_counter()
    child = box.start("serve", env=env)
    while True:
        try:
            Client(f"{box.database}.sock").close()
            return child, time.perf_counter() - start
        except OSError:
            if child.poll() is not None or time.perf_counter() - start > 60:
                raise Cannot(f"kettle serve did not start: {child.log.read_text()[-300:]}") from None
            time.sleep(0.0005)


def stop_server(child):
    child.terminate()
    child.wait(60)


__all__ = ["BUILD", "KETTLE", "SECONDS", "TOOLS", "Box", "Cannot", "Client", "HEAD", "RANKED_REST", "SUBMIT_LIMIT", "Section", "figures", "interpreter",
           "kept", "machine", "number_text", "plugins", "poll", "progress", "quantile", "rounds", "split", "start_server", "stop_server",
           "table", "wants_warm"]
