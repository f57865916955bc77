# SPDX-License-Identifier: MIT
"""Where the time of a run goes: its lines with the time of each, in kettle-exec, and of the same program run bare."""
import json
import os
import select
import shutil
import socket
import statistics
import subprocess
import time

from commands import ends, kill, read_ends

# What happens in a run in the mode test, from the start of its program, by the first line that tells it.
MOMENTS = ("its first line", "the first case", "all cases", "its end")


def moments(start, lines, end):
    """Milliseconds from the start until each moment; lines: [(time, key)]."""
    first = next((at for at, _ in lines), None)
    case = next((at for at, key in lines if key == "test.0.status"), None)
    check = next((at for at, key in lines if key == "check"), None)
    return {name: (at - start) * 1e3 for name, at in zip(MOMENTS, (first, case, check, end)) if at}


class Exec:
    """kettle-exec --serve, by its protocol; use it in a `with`."""

    def __init__(self, here, name):
        self.here, self.folder = here, os.path.join(here.scratch, name)
        os.makedirs(self.folder)
        with open(os.path.join(self.folder, "exec.yml"), "w") as file:
            json.dump({"locks": os.path.join(self.folder, "locks"), **here.settings}, file)
        self.pending, self.jobs = b"", 0

    def __enter__(self):
        self.errors = open(os.path.join(self.folder, "errors"), "w+")
        self.child = subprocess.Popen(
            [self.here.exec, "--serve", "--state", os.path.join(self.folder, "state"), "--config",
             os.path.join(self.folder, "exec.yml")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors,
            start_new_session=True, cwd=self.folder)
        return self

    def __exit__(self, *_):
        self.child.stdin.close()
        try:
            self.child.wait(5)
        except subprocess.TimeoutExpired:
            kill(self.child)
        self.child.stdout.close()
        self.errors.close()

    def event(self, end):
        """The next event and when it came; None: the time is over, or nothing more comes."""
        while b"\n" not in self.pending:
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.child.stdout], [], [], left)[0]:
                return None
            data = os.read(self.child.stdout.fileno(), 1 << 20)
            if not data:
                return None
            self.pending += data
        line, self.pending = self.pending.split(b"\n", 1)
        return time.monotonic(), json.loads(line)

    def run(self, plan, unit, limit, keep=False):
        """Carries out a plan. Returns (done, [(time, result key)] of its run step), or (None, what was said)."""
        self.jobs += 1
        job = "job-%d" % self.jobs
        line = {"op": "run", "job": job, "unit": unit, "plan": plan, **({"keep": True} if keep else {})}
        self.child.stdin.write(json.dumps(line).encode() + b"\n")
        self.child.stdin.flush()
        end, lines, said = time.monotonic() + limit, [], []
        while True:
            got = self.event(end)
            if not got:
                return None, said
            at, event = got
            if event.get("event") == "result" and event.get("job") == job:
                lines.append((at, event["key"]))
            elif event.get("event") == "done" and event.get("job") == job:
                return event, lines
            elif event.get("event") != "hello":
                said = (said + [event])[-5:]


def filled(shown, text):
    """A board's plan with the files' contents and a submission's text in it."""
    plan = shown["plans"][0].get("plan")
    if not plan:
        return None
    files = {}
    for name, content in plan["files"].items():
        files[name] = {"text": text} if content.get("submission") else shown["files"][content["task"]] if "task" in content else content
    return {**plan, "files": files}


def bare(folder, argv, limit, env):
    """Runs what a step runs, in a copy of its folder, without Kettle; its moments, or a sentence where it did not end with 0."""
    ours, theirs = socket.socketpair()
    began, lines, text = time.monotonic(), [], b""
    with open(os.path.join(folder, "said"), "wb") as said:
        child = subprocess.Popen(argv, cwd=folder, env={**env, "POPCORN_FD": str(theirs.fileno())}, pass_fds=[theirs.fileno()],
                                 stdin=subprocess.DEVNULL, stdout=said, stderr=said, start_new_session=True)
    theirs.close()
    while time.monotonic() < began + limit and select.select([ours], [], [], began + limit - time.monotonic())[0]:
        data = ours.recv(65536)
        if not data:
            break
        text += data
        while b"\n" in text:
            line, text = text.split(b"\n", 1)
            lines.append((time.monotonic(), line.split(b":")[0].decode("utf-8", "replace")))
    try:
        status = child.wait(max(0.1, began + limit - time.monotonic()))
    except subprocess.TimeoutExpired:
        kill(child)
        status = None
    ours.close()
    if status == 0:
        return moments(began, lines, time.monotonic())
    with open(os.path.join(folder, "said"), "rb") as said:
        return "it ended with %s after %.1f s, its last line was %s: %s" % (
            status, time.monotonic() - began, lines[-1:], ends(read_ends(said), 4000))


def kept_folder(done, step, scratch):
    """A copy of a run step's folder that is writable for all."""
    source = os.path.join(done["kept"], step, "job")
    target = os.path.join(scratch, "bare-%d" % len(os.listdir(scratch)))
    shutil.copytree(source, target, symlinks=True)
    for where, _, names in os.walk(target):
        for path in [where] + [os.path.join(where, name) for name in names]:
            os.chmod(path, 0o755)
    os.makedirs(os.path.join(target, "out"), exist_ok=True)
    return target


def measure(runner, plan, unit, times, limit):
    """Medians over some runs of a plan: ({part: ms}, the last `done`), or (None, why)."""
    found, done = [], None
    for number in range(times + 1):
        done, lines = runner.run(plan, unit, limit, keep=number == times)
        if not done or done["status"] != "done" or not done["outcomes"] or done["outcomes"][-1]["state"] != "passed":
            return None, done or lines
        outcome = done["outcomes"][-1]
        start, stamps = outcome["start_ns"] / 1e9, outcome["stamps"]
        parts = {"its sandbox": (outcome["start_ns"] - stamps["launched_ns"]) / 1e6,
                 **moments(start, lines, start + outcome["wall_ns"] / 1e9),
                 "outputs and sandbox away": (stamps["ended_ns"] - outcome["start_ns"] - outcome["wall_ns"]) / 1e6}
        if number > 0:  # the first one may make an interpreter warm, and fills caches
            found.append(parts)
    return {key: statistics.median(parts[key] for parts in found if key in parts) for key in found[0]}, done
