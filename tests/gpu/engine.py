# SPDX-License-Identifier: MIT
"""A Kettle that serves a database of its own, on the GPU, or without one."""
import json
import os
import re
import signal
import subprocess
import time

from commands import as_user, ends, kill

POLL = 0.3
MARK = "KETTLE_GPU_RUN_MARK"  # a variable of the engine's environment, which no run may see


class Trouble(Exception):
    """Kettle failed to carry out a request; evidence has the details."""

    def __init__(self, sentence, evidence=None):
        super().__init__(sentence)
        self.evidence = evidence or {}


class Engine:
    """kettle serve in a folder of its own, as this user or another one; use it in a `with`."""

    def __init__(self, here, name, user=None, device=None, languages=None, cache=None, extra_paths=()):
        """device: further keys of the device's section; languages: in place of the usual ones; cache: an engine that what is
        built is shared with; extra_paths: that its sandboxes may read."""
        self.here, self.name, self.user, self.child = here, name, user, None
        self.kettle = here.kettle_of(user)
        self.folder = os.path.join(here.scratch, name)
        os.makedirs(self.folder)
        self.level = here.level if user is None else here.user_level
        self.log = os.path.join(self.folder, "serve.log")
        self.write_configuration(device or {}, languages or here.languages(), extra_paths)
        if cache:
            os.makedirs(os.path.join(self.folder, "state"), mode=0o700)
            os.makedirs(os.path.join(cache.folder, "state", "cache"), mode=0o700, exist_ok=True)
            os.symlink(os.path.join(cache.folder, "state", "cache"), os.path.join(self.folder, "state", "cache"))
        self.env = {key: value for key, value in os.environ.items() if not key.startswith(("KETTLE_", "XDG_"))}
        for key in ("KETTLE_NVML", "KETTLE_ROCM_SMI"):
            if key in os.environ:
                self.env[key] = os.environ[key]
        self.env.update(KETTLE_CONFIG=os.path.join(self.folder, "kettle.yml"), KETTLE_DB=os.path.join(self.folder, "kettle.db"),
                        HOME=self.folder, XDG_RUNTIME_DIR=self.folder, NO_COLOR="1", **{MARK: "1"})
        if user is not None:
            give(self.folder, user)
        self.boards = {}

    def write_configuration(self, device, languages, extra_paths):
        section = {"runner": "local", "sandbox": self.level, "prefetch": 8, **self.here.unit(), **device}
        section = {key: value for key, value in section.items() if value is not None}
        self.write("exec.yml", json.dumps({"locks": os.path.join(self.folder, "locks"), **self.here.settings}))
        self.write("kettle.yml", json.dumps({
            "build": {"jobs": max(2, min(8, os.cpu_count() or 2))}, "languages": languages, "sandbox": {"extra_paths": list(extra_paths)},
            "runners": {"local": {"state": os.path.join(self.folder, "state"), "config": os.path.join(self.folder, "exec.yml")}},
            "devices": {self.here.device: section}}, indent=1))

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, 0o644)
        return path

    def __enter__(self):
        with open(self.log, "w") as log:
            self.child = subprocess.Popen([self.kettle, "serve"], stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=self.env,
                                          cwd=self.folder, start_new_session=True, **as_user(self.user))
        end = time.monotonic() + min(30, max(1, self.here.budget.left() - 5))
        while not os.path.exists(os.path.join(self.folder, "kettle.db.sock")):
            if self.child.poll() is not None or time.monotonic() > end:
                text = self.said()
                self.__exit__()
                raise Trouble("`kettle serve` did not come up: %s" % (text.strip().splitlines()[-1:] or ["it said nothing"])[0],
                              {"serve": text})
            time.sleep(POLL)
        return self

    def __exit__(self, *_):
        if self.child and self.child.poll() is None:
            self.child.terminate()
            try:
                self.child.wait(min(10, max(1, self.here.budget.left())))
            except subprocess.TimeoutExpired:
                self.here.commands.note("kettle serve (%s) did not end within 10 s of SIGTERM and was killed\n" % self.name)
                kill(self.child)
        self.here.commands.note("---- what kettle serve (%s) said ----\n%s\n" % (self.name, ends(self.said(), 200000)))

    def said(self):
        try:
            with open(self.log, encoding="utf-8", errors="replace") as file:
                return ends(file.read(), 1 << 20)
        except OSError as error:
            return str(error)

    def run(self, *args, limit=60, quiet=False):
        return self.here.commands.run(self.kettle, *args, limit=limit, env=self.env, cwd=self.folder, user=self.user, quiet=quiet)

    def json(self, *args, limit=60, quiet=False):
        """What a command answers, whatever its exit status; raises Trouble where it is not an answer."""
        done = self.run("--json", *args, limit=limit, quiet=quiet)
        try:
            answer = json.loads(done.stdout)
        except ValueError:
            raise Trouble(done.why(), done.evidence()) from None
        if isinstance(answer, dict) and "code" in (answer.get("error") or {} if isinstance(answer.get("error"), dict) else {}):
            raise Trouble(answer["error"].get("message", "no message"), done.evidence())
        return answer

    def board(self, name, task, lang=None):
        """Makes a leaderboard of a task, once."""
        if name not in self.boards:
            self.json("leaderboard", "create", name, "--no-try", "--task", task, "--device", self.here.device,
                      *(("--lang", lang) if lang else ()))
            self.boards[name] = task
        return name

    def submit(self, board, file, mode="ranked"):
        """The number of a new submission."""
        return self.json("submit", file, "--leaderboard", board, "--mode", mode, "--no-wait")["id"]

    def ended(self, number):
        """A submission's one job, where it has ended, else None."""
        job = self.json("submission", "show", number, quiet=True)["jobs"][0]
        if job["state"] in ("queued", "running"):
            return None
        self.here.commands.note("%8.2f s  submission %s: %s\n" % (self.here.budget.spent(), number, outputs_of(job)))
        return job

    def wait(self, number, limit):
        """The job of a submission when it has ended; one that has not by then is cancelled and listed in `unended`."""
        began = time.monotonic()
        end = began + min(limit, max(1, self.here.budget.left() - 15))
        while time.monotonic() < end:
            job = self.ended(number)
            if job:
                return job
            time.sleep(POLL)
        return self.give_up(number, time.monotonic() - began)

    def give_up(self, number, seconds):
        """Ends a submission that does not end: its job, with what its processes were at and, of Python, their tracebacks."""
        stuck = self.stuck()
        for pid, command in self.processes():
            if "python" in command.split(" ")[0]:
                signal_to(pid, signal.SIGABRT)  # whose handler writes down where each thread is
        end = time.monotonic() + 3
        job = self.ended(number)
        while not job and time.monotonic() < end:
            time.sleep(POLL)
            job = self.ended(number)
        self.run("submission", "cancel", number, limit=10)
        job = job or self.json("submission", "show", number, limit=10)["jobs"][0]
        return {**job, "unended": True, "stuck": stuck, "error": "It had not ended after %.0f s and was given up. %s" % (
            seconds, job.get("error") or job.get("waits") or "")}

    def builds(self):
        """Whether a compiler runs below the engine."""
        return any(re.search(r"(^|/)(nvcc|cicc|ptxas|cudafe\+\+|ninja|cc1plus|cc1)( |$)", command) for _, command in self.processes())

    def stuck(self):
        """What each process below the engine is at, as the kernel sees it."""
        lines = []
        for pid, command in self.processes():
            lines.append("%d %s" % (pid, command))
            for task in tasks_of(pid):
                lines.append("    %s" % "; ".join("%s %s" % (name, " ".join(first_words("/proc/%d/task/%s/%s" % (pid, task, name))))
                                                  for name in ("comm", "wchan", "syscall", "stack")))
                state = [line for line in first_words("/proc/%d/task/%s/status" % (pid, task), "\n")
                         if line.startswith(("State", "PPid", "SigBlk", "SigCgt", "Threads", "VmRSS"))]
                lines.append("      %s" % "; ".join(state))
            lines.append("    descriptors: %s" % " ".join(links_of(pid)))
        return "\n".join(lines)

    def judge(self, board, file, mode="ranked", limit=180):
        return self.wait(self.submit(board, file, mode), limit)

    def plan(self, board, mode):
        """The plan of a board, without the files' contents; a sentence where there is none."""
        try:
            shown = self.json("leaderboard", "task", board, "--mode", mode, "--device", self.here.device, limit=10)
            return shown["plans"][0].get("plan") or shown["plans"][0].get("error")
        except (Trouble, LookupError) as error:
            return str(error)

    def explain(self, job=None, board=None, mode="ranked"):
        """What is kept of a failure; of what stands under `report` and `plan` the page shows nothing or little."""
        evidence = {"what it did": outputs_of(job or {}), "what its processes were at": (job or {}).get("stuck") or "", "engine": ends(self.said(), 3000), "nvidia-smi": self.here.smi(),
                    "kernel": self.here.kernel(), "sandbox": self.here.sandbox_of(self.user), "report": job}
        if board:
            evidence["plan"] = self.plan(board, mode)
        return evidence

    def processes(self):
        """[(pid, command)] of all below the engine."""
        from commands import descendants
        found = []
        for pid in descendants(self.child.pid):
            try:
                with open("/proc/%d/cmdline" % pid, "rb") as file:
                    found.append((pid, file.read(400).replace(b"\0", b" ").decode("utf-8", "replace")))
            except OSError:
                pass
        return found


def give(folder, user):
    """Makes a folder and all in it another user's."""
    for where, _, names in os.walk(folder):
        for path in [where] + [os.path.join(where, name) for name in names]:
            os.chown(path, user, user)


def signal_to(pid, number):
    try:
        os.kill(pid, number)
    except OSError:
        pass


def tasks_of(pid):
    try:
        return sorted(os.listdir("/proc/%d/task" % pid))[:12]
    except OSError:
        return []


def first_words(path, between=None):
    try:
        with open(path, errors="replace") as file:
            return file.read(2000).strip("\0\n").split(between)
    except OSError as error:
        return [error.strerror or "?"]


def links_of(pid):
    found = []
    try:
        for name in sorted(os.listdir("/proc/%d/fd" % pid), key=int)[:40]:
            found.append("%s=%s" % (name, os.readlink("/proc/%d/fd/%s" % (pid, name))))
    except OSError:
        pass
    return found


def built(job):
    """Seconds that a job's compilation took, and whether all of it was kept from before."""
    steps = job.get("compilation") or []
    return sum(step.get("wall_ns") or 0 for step in steps if not step.get("cached")) / 1e9, \
        bool(steps) and all(step.get("cached") for step in steps)


def outputs_of(job):
    """Of each step and run that did not pass: its command, how it ended and what it said."""
    text = "%s: %s\n" % (job.get("state"), job.get("error"))
    for step in [*(job.get("compilation") or []), *(job.get("runs") or [])]:
        if not step.get("passed"):
            text += "$ %s\nstate %s, exit %s, signal %s, limit %s, %s MiB, %.2f s, warm: %s\n" % (
                step.get("command"), step.get("state"), step.get("exit"), step.get("signal"), step.get("limit"),
                (step.get("memory_peak") or 0) >> 20, (step.get("wall_ns") or 0) / 1e9, step.get("warm"))
            for key in ("message", "stdout", "stderr"):
                text += "%s: %s\n" % (key, ends(step[key], 3000)) if step.get(key) else ""
            text += "".join("  %s: %s\n" % (key, value[:500]) for key, value in (step.get("result") or {}).items())
    return text


def state_of(job):
    """passed, failed, timed_out, error, or compile where it is the compiler that did not take it."""
    steps = job.get("compilation") or []
    if job["state"] == "failed" and not all(step.get("passed") for step in steps):
        return "compile"
    return "unended" if job.get("unended") else job["state"]


def message_of(job):
    """Why it did not pass, in a few words."""
    if job.get("error"):
        return " ".join(job["error"].split())
    for run in job.get("runs") or []:
        if not run.get("passed"):
            result = run.get("result") or {}
            said = [value for key, value in result.items() if key.endswith((".error", ".message"))]
            last = (run.get("stderr") or "").strip().splitlines()[-1:]
            return " ".join("; ".join([run.get("message") or "", *said[:2], *last]).strip("; ").split())
    return ""
