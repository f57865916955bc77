# SPDX-License-Identifier: MIT
"""Drives kettle-exec for its tests: lines in, events out, TAP for the harness."""
import base64
import json
import os
import selectors
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback

BUILD = os.environ.get("top_builddir", ".")
SOURCE = os.environ.get("top_srcdir", ".")
sys.path.insert(0, os.path.join(SOURCE, "tests", "lib"))
import cgroups  # noqa: E402
import known_tools  # noqa: E402
import pythons  # noqa: E402
import sizes  # noqa: E402
from polling import poll  # noqa: E402
from sanitizers import sanitizer  # noqa: E402

PROGRAM = os.path.join(BUILD, "kettle-exec")
# kettle-gpu and the stand-in of NVIDIA's library without sanitizers, where they were built: for tests that are about something else and
# start it hundreds of times.
QUICK = os.path.dirname(os.environ.get("KETTLE_FAR_EXEC") or PROGRAM)
QUICK_GPU = {"helper": os.path.join(QUICK, "kettle-gpu"), "nvml": os.path.join(QUICK, "tests", "peers", "libnvidia-ml.so")}
PATIENCE = 300  # seconds that any single wait may take, on a machine that has ten times as much to do as it can
# KETTLE_TEST_WARM=0: no run of any test begins as a copy of a warm interpreter. The others are not given up on a busy one.
EXEC_SETTINGS = {"warm": {"idle_seconds": 0, "start_seconds": PATIENCE} if os.environ.get("KETTLE_TEST_WARM", "1") != "0" else {"processes": 0}}
CHECKER = os.path.join(BUILD, "tests", "lib", "check_lines")
SCHEMA = os.path.join(SOURCE, "core", "exec", "plan", "event.schema.json")


class Skip(Exception):
    """A test that this machine cannot do; the argument says why."""


class Exec:
    """One kettle-exec --serve with its own end of the conversation."""
    lines = set()  # all that any of them said

    def __init__(self, folder, state=None, config=None, arguments=(), env=None, whole=True, stderr=None):
        self.state = state or os.path.join(folder, "state")
        known_tools.give(self.state)
        self.events = []
        command = [PROGRAM, "--serve", "--state", self.state]
        path = os.path.join(folder, "exec.yml")
        if config is not None or not os.path.exists(path):
            with open(path, "w") as file:
                json.dump({"locks": os.path.join(folder, "locks"), **EXEC_SETTINGS, **(config or {})}, file)
        command += ["--config", path] + list(arguments)
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr, env=dict(os.environ, **(env or {})))
        self.owner = cgroups.owner(self.process.pid)
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.process.stdout, selectors.EVENT_READ)
        self.pending = b""
        self.hello = self.event()
        while whole and self.hello and "tools" not in self.hello:  # another one follows
            self.hello = self.event()
        if self.hello and "tools" in self.hello:
            known_tools.take(self.state)

    def event(self):
        """The next event; None: the end of the output."""
        end = time.monotonic() + PATIENCE
        while b"\n" not in self.pending:
            if not self.selector.select(max(0, end - time.monotonic())):
                raise AssertionError("no event came; so far: %r" % self.events[-5:])
            data = os.read(self.process.stdout.fileno(), 1 << 20)
            if not data:
                return None
            self.pending += data
        line, self.pending = self.pending.split(b"\n", 1)
        event = json.loads(line)
        self.lines.add(line)
        self.events.append(event)
        return event

    def send_bytes(self, data):
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send(self, **line):
        self.send_bytes(json.dumps(line).encode() + b"\n")

    def run(self, job, steps, files=None, owner=None, **more):
        plan = {"version": 1, "steps": steps}
        if files:
            plan["files"] = files
        if owner:
            plan["owner"] = owner
        self.send(op="run", job=job, plan=plan, **more)

    def until(self, **wanted):
        """The first event from now on that has these members."""
        while True:
            event = self.event()
            assert event is not None, "the output ended before %r" % wanted
            if all(event.get(key) == value for key, value in wanted.items()):
                return event

    def done(self, job):
        return self.until(event="done", job=job)

    def outcomes(self, job, steps, files=None, **more):
        """Runs a job; its outcomes by step."""
        self.run(job, steps, files, **more)
        done = self.done(job)
        assert done["status"] == "done", done
        return {outcome["step"]: outcome for outcome in done["outcomes"]}

    def one(self, step, **more):
        """Runs a job of one step; its outcome."""
        return self.outcomes("one", [dict({"id": "s", "kind": "run"}, **step)], **more)["s"]

    def close(self):
        """Ends the lease; the exit status."""
        if self.process.stdin and not self.process.stdin.closed:
            self.process.stdin.close()
        try:
            return self.process.wait(PATIENCE)
        finally:
            self.process.stdout.close()
            self.selector.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.close()


def shell(script, **more):
    return dict({"argv": ["sh", "-c", script]}, **more)


def text(value):
    return {"text": value}


def b64(data):
    return {"base64": base64.b64encode(data).decode()}


def processes_with(marker):
    """Processes of this machine whose command line holds the marker."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/cmdline" % pid, "rb") as file:
                if marker.encode() in file.read():
                    found.append(int(pid))
        except OSError:
            pass
    return [pid for pid in found if pid != os.getpid()]


def spools(state):
    folder = os.path.join(state, "spool")
    return [name for name in os.listdir(folder) if name != "lock"] if os.path.isdir(folder) else []


def equal(got, wanted):
    assert got == wanted, "got %r, wanted %r" % (got, wanted)


def contains(got, wanted):
    assert got is not None and wanted in got, "got %r, wanted something with %r" % (got, wanted)


def as_documented(_):
    """all that it said is as event.schema.json has it"""
    if not Exec.lines:
        raise Skip("no kettle-exec was driven by lines")
    checked = subprocess.run([CHECKER, SCHEMA], input=b"".join(line + b"\n" for line in Exec.lines), stdout=subprocess.PIPE)
    assert checked.returncode == 0, checked.stdout.decode()[:4000]


def main(tests, more=()):
    """Runs every test (or those that the command line names) in a folder of its own and prints TAP. more: those that only
    ./quickstart test --all runs."""
    tests = sizes.chosen(tests, more) + [as_documented]
    print("1..%d" % len(tests))
    failed = 0
    for number, test in enumerate(tests, 1):
        folder = tempfile.mkdtemp(prefix="kettle-exec-test.")
        os.chmod(folder, 0o755)  # interpreters import as a user that owns nothing
        begin = time.monotonic()
        title = "%d - %s" % (number, test.__doc__.strip().rstrip("."))
        try:
            test(folder)
            print("ok " + title)
        except Skip as why:
            print("ok %s # SKIP %s" % (title, why))
        except Exception as error:
            failed += 1
            print("not ok " + title)
            for line in ("%s: %s" % (type(error).__name__, error))[:2000].splitlines() + traceback.format_exc().splitlines():
                print("# " + line)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        print("# %.1f s" % (time.monotonic() - begin), flush=True)
    return 1 if failed else 0


__all__ = [name for name in dir() if not name.startswith("_")]
