#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Everything at once, for twenty minutes: many clients of every kind, processes of every kind killed, a disk that fills, a
clock that jumps. At the end it counts what was accepted, judged, judged twice, judged wrongly, lost and left behind; status 1
where one of the last four is not zero.

KETTLE_SOAK_SECONDS, KETTLE_SOAK_CLIENTS and KETTLE_SEED change what they say."""
import collections
import json
import os
import pathlib
import random
import signal
import sqlite3
import struct
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.environ.get("top_srcdir", "."), "tests", "lib"))
import cgroups  # noqa: E402
from kettle_test import BUILD, KETTLE, TASKS, Scratch, needs  # noqa: E402

SECONDS = float(os.environ.get("KETTLE_SOAK_SECONDS", "1200"))
CLIENTS = int(os.environ.get("KETTLE_SOAK_CLIENTS", "200"))
SEED = int(os.environ.get("KETTLE_SEED", random.randrange(1 << 30)))
PAUSE = (1, 12)  # seconds from one harm to the next
SETTLE = 900  # seconds that what was accepted may take when all is quiet
DISK = 512 << 20
CLOCK = BUILD / "tests" / "soak" / "clock.so"
JUMPS = (-3600, -60, 60, 3600, 2 * 86400, -86400)
# Of what a submission starts only the sandbox's init: whoever kills more of it looks like the submission itself.
KILLED = ("serve", "kettle-exec", "init", "warm", "compiler")
LOOKS = (("leaderboard", "list"), ("leaderboard", "show", "cpp"), ("leaderboard", "task", "cpp"), ("submission", "list"),
         ("device", "list"), ("admin", "stats"))
SLEEPS = "\n#include <unistd.h>\nstatic const unsigned slept = sleep(2);\n"
HANGS = "\nstatic const int hung = [] { for (volatile int i = 0;; i = i + 1) {} return 0; }();\n"


def boards():
    """Name, task, and what is submitted: (file's text, suffix, what it must come to)."""
    cpp = TASKS / "vectoradd_cpp"
    right = (cpp / "solutions" / "correct" / "naive.cpp").read_text()
    found = [("cpp", cpp, [(right, ".cpp", "passed"), (right, ".cpp", "passed"), (right + SLEEPS, ".cpp", "passed"),
                           ("// %d\n" + right, ".cpp", "passed"), (right + HANGS, ".cpp", "timed_out"),
                           ((cpp / "solutions" / "wrong" / "off_by_one.cpp").read_text(), ".cpp", "failed"),
                           (right + "\nnonsense\n", ".cpp", "failed")])]
    if (BUILD / "plugins" / "py.so").exists():
        task = TASKS / "matmul_np"
        plain = next(iter(sorted((task / "solutions" / "correct").glob("*.py")))).read_text()
        found.append(("py", task, [(plain, ".py", "passed"), (plain + "\n# %d\n", ".py", "passed"),
                                   (plain + "\nimport os\nos.kill(os.getpid(), 9)\n", ".py", "failed")]))
    return found


def why(text):
    """The code of an error that the command line told."""
    try:
        return json.loads(text)["error"]["code"]
    except (ValueError, KeyError):
        return text.strip()[-110:] or "killed"


class Disk:
    """A file system of its own, which can be filled; where mounting is not allowed a folder, which is not."""

    def __init__(self, folder):
        self.folder, self.filler = folder, folder / "filler"
        folder.mkdir()
        self.mounted = os.getuid() == 0 and subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={DISK},mode=0755", "soak", str(folder)], capture_output=True).returncode == 0

    def fill(self):
        with open(self.filler, "wb", buffering=0) as file:
            try:
                while True:
                    file.write(b"\0" * (1 << 16))
            except OSError:
                pass

    def clear(self):
        self.filler.unlink(missing_ok=True)

    def close(self):
        if self.mounted:
            subprocess.run(["umount", str(self.folder)], check=True)


class Soak:
    def __init__(self):
        self.chance = random.Random(SEED)
        self.scratch = Scratch(devices="{CPU: {runner: local, slots: 2, prefetch: 2}}")
        self.disk = Disk(self.scratch.root / "disk")
        self.scratch.database = self.disk.folder / "kettle.db"
        self.state = self.disk.folder / "exec"
        self.clock = self.scratch.write("clock", struct.pack("q", 0))
        self.moved = 0
        self.lock = threading.Lock()
        self.accepted, self.refused, self.done = {}, collections.Counter(), collections.Counter()
        self.did, self.killed, self.owners = collections.Counter(), collections.Counter(), set()
        self.finals, self.seen_event = collections.Counter(), 0
        self.over, self.server, self.serving = threading.Event(), None, True

    def configure(self):
        text = self.scratch.config.read_text().replace(str(self.scratch.state), str(self.state))
        self.scratch.state = self.state
        if len(self.boards) > 1:
            text = text.replace("languages: {cpp: {}", "languages: {cpp: {}, py: {}")
        self.scratch.config.write_text(text + "engine: {shutdown_grace: 2}\n")

    def environment(self):
        env = self.scratch.environment()
        if CLOCK.exists():
            env.update(LD_PRELOAD=str(CLOCK), KETTLE_CLOCK=str(self.clock))
        return env

    def serve(self):
        log = open(self.scratch.root / "serve.log", "a")
        self.server = subprocess.Popen([str(KETTLE), "serve"], env=self.environment(), stdout=log, stderr=subprocess.STDOUT,
                                       cwd=self.scratch.root, start_new_session=True)
        log.close()
        self.note(self.server.pid)

    def note(self, pid):
        """A process that makes cgroups is known by number and start when it is gone."""
        try:
            self.owners.add(cgroups.owner(pid))
        except (OSError, IndexError):
            pass

    # ---- clients ----

    def kettle(self, user, *args, limit=300):
        try:
            return subprocess.run([str(KETTLE), *(("--user", user) if user else ()), *map(str, args)], env=self.environment(), capture_output=True, text=True,
                                  timeout=limit, cwd=self.scratch.root, errors="replace")
        except subprocess.TimeoutExpired:
            return None

    def submit(self, chance, user):
        board, _, kinds = chance.choice(self.boards)
        text, suffix, must = chance.choice(kinds)
        path = self.scratch.root / f"{user}{suffix}"
        path.write_text(text % chance.randrange(1 << 30) if "%d" in text and must == "passed" else text)
        mode = "test" if must == "timed_out" else chance.choice(("test", "test", "test", "benchmark", "ranked"))
        done = self.kettle(user, "submit", path, "--leaderboard", board, "--mode", mode, "--no-wait", "--json", limit=120)
        with self.lock:
            if done is None or done.returncode != 0:
                self.refused["no answer in time" if done is None else why(done.stdout)] += 1
                return None
            answer = json.loads(done.stdout)
            self.accepted[answer["id"]] = must
            return answer["id"]

    def act(self, chance, user, own):
        """One thing that a client does."""
        what = chance.random()
        if what < 0.5:
            self.did["submit"] += 1
            found = self.submit(chance, user)
            if found is None:
                return
            own.append(found)
            if chance.random() < 0.08:
                self.did["cancel"] += 1
                self.kettle(user, "submission", "cancel", found, limit=60)
                with self.lock:
                    self.accepted[found] = None
            else:
                end = time.monotonic() + 120
                while not self.over.is_set() and time.monotonic() < end and found not in self.done:
                    self.over.wait(0.5 + chance.random())
            return
        command = chance.choice(LOOKS + ((own and ("submission", "show", chance.choice(own)) or LOOKS[0]),))
        self.did[" ".join(map(str, command[:2]))] += 1
        self.kettle(user, *command, "--json", limit=60)

    def client(self, number):
        chance, own = random.Random(SEED * 1000 + number), []
        self.over.wait(chance.random() * 10)
        while not self.over.is_set():
            try:
                self.act(chance, f"client-{number}", own)
            except Exception as error:  # the count at the end must come
                with self.lock:
                    self.refused[f"{type(error).__name__}: {error}"[:110]] += 1
            self.over.wait(chance.random() * 8)

    # ---- harm ----

    def family(self):
        """(pid, what it is) of all that works below our folder."""
        kinds, parents = {}, {}
        for entry in os.listdir("/proc"):
            if not entry.isdigit():
                continue
            try:
                stat = pathlib.Path("/proc", entry, "stat").read_text()
                line = pathlib.Path("/proc", entry, "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            except OSError:
                continue
            parents[int(entry)] = int(stat.rpartition(")")[2].split()[1])
            kinds[int(entry)] = (stat.partition("(")[2].rpartition(")")[0], line)
        ours = {self.server.pid} if self.server else set()
        while True:
            more = {pid for pid, parent in parents.items() if parent in ours} - ours
            if not more:
                break
            ours |= more
        return [(pid, self.kind(parents, kinds, pid)) for pid in ours if pid in kinds]

    def kind(self, parents, kinds, pid):
        name, line = kinds[pid]
        parent = kinds.get(parents.get(pid), ("", ""))[0]
        if pid == self.server.pid:
            return "serve"
        if name == "kettle-init":
            return "init"
        if name == "kettle-exec" and "--serve" in line:
            return "kettle-exec"
        if "_imp" in line and parent == "kettle-exec":  # below a sandbox's init it is a run's
            return "warm"
        if name in ("cc1plus", "cc1", "ld", "collect2", "as"):
            return "compiler"
        return "other"

    def kill(self):
        by_kind = collections.defaultdict(list)
        for pid, kind in self.family():
            by_kind[kind].append(pid)
            if kind == "kettle-exec":
                self.note(pid)
        kinds = [kind for kind in KILLED if by_kind[kind]]
        if not kinds:
            return
        kind = self.chance.choice(kinds)
        number = signal.SIGTERM if kind == "serve" and self.chance.random() < 0.3 else signal.SIGKILL
        try:
            os.kill(self.chance.choice(by_kind[kind]), number)
            self.killed[kind] += 1
        except ProcessLookupError:
            pass

    def jump(self):
        self.moved += self.chance.choice(JUMPS)
        with open(self.clock, "r+b") as file:
            file.write(struct.pack("q", self.moved))
        self.did["clock jumps"] += 1

    def fill(self):
        self.did["full disks"] += 1
        self.disk.fill()
        self.over.wait(self.chance.uniform(1, 6))
        self.disk.clear()

    def harm(self):
        while not self.over.is_set():
            if self.server.poll() is not None:
                self.serve()
            if self.over.wait(self.chance.uniform(*PAUSE)):
                return
            what = self.chance.random()
            if what < 0.8:
                self.kill()
            elif what < 0.9:
                self.jump()
            elif self.disk.mounted:
                self.fill()

    # ---- counting ----

    def watch(self):
        """Counts verdicts while they are told: old events may go away."""
        while not self.stopped.wait(0.5):
            self.look()

    def look(self):
        try:
            rows = self.scratch.rows("SELECT seq, submission FROM events WHERE kind = 'submission.done' AND seq > ? ORDER BY seq", self.seen_event)
        except sqlite3.OperationalError as error:
            assert "no such column" not in str(error)
            return
        for number, submission in rows:
            self.seen_event = number
            self.done[submission] += 1

    def settle(self):
        """Waits until all that was accepted has ended; how long that took."""
        began = time.monotonic()
        while time.monotonic() < began + SETTLE:
            if self.server.poll() is not None:
                self.serve()
            if not self.scratch.rows("SELECT count(*) FROM jobs WHERE state IN ('queued', 'running')")[0][0]:
                break
            time.sleep(0.5)
        return time.monotonic() - began

    def states(self):
        return dict(self.scratch.rows("SELECT submission, group_concat(state) FROM jobs GROUP BY submission"))

    def said(self, number):
        return self.scratch.rows("SELECT group_concat(error) FROM jobs WHERE submission = ?", number)[0][0]

    def left(self):
        return self.scratch.remains() + self.files_left()

    def files_left(self):
        """What should be gone but for processes: cgroups, mounts, files of jobs, half files."""
        living = {pid for pid, _ in self.family()} if self.server.poll() is None else set()
        found = cgroups.left({owner for owner in self.owners if owner[0] not in living})
        inner = str(self.scratch.root) + "/"
        for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines():
            where = line.split()[4]
            if where.startswith(inner) and where != str(self.disk.folder):
                found.append(f"mount {where}")
        for folder, _, names in os.walk(self.disk.folder):
            found += [f"{folder}/{name}" for name in names
                      if name.endswith(".part") or ("/spool" in folder and name != "lock")]
        return found

    def run(self):
        self.boards = boards()
        self.configure()
        self.stopped = threading.Event()
        self.serve()
        for name, task, _ in self.boards:
            done = self.kettle(None, "leaderboard", "create", name, "--task", task)
            if done is None or done.returncode:
                sys.exit(f"soak: the leaderboard {name} could not be made: {done and done.stderr}")
        threads = [threading.Thread(target=self.client, args=(number,), daemon=True) for number in range(CLIENTS)]
        threads += [threading.Thread(target=self.harm, daemon=True)]
        watcher = threading.Thread(target=self.watch, daemon=True)
        for thread in (*threads, watcher):
            thread.start()
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            time.sleep(min(30, max(0.1, end - time.monotonic())))
            print(f"soak: {end - time.monotonic():.0f} s to go, {len(self.accepted)} accepted, {len(self.done)} judged, "
                  f"{sum(self.killed.values())} killed", flush=True)
        self.over.set()
        for thread in threads:
            thread.join(400)
        self.disk.clear()
        took = self.settle()
        self.server.send_signal(signal.SIGHUP)
        time.sleep(2)
        self.stopped.set()
        watcher.join()
        self.look()
        states = self.states()
        end = time.monotonic() + 60
        while self.files_left() and time.monotonic() < end:  # the next kettle-exec removes what a dead one left
            time.sleep(0.2)
        self.server.send_signal(signal.SIGTERM)
        self.server.wait(120)
        return self.count(states, took)

    def count(self, states, took):
        end = time.monotonic() + 30
        while self.left() and time.monotonic() < end:
            time.sleep(0.5)
        lost = [number for number in self.accepted if states.get(number, "queued") in ("queued", "running")]
        doubled = [number for number, times in self.done.items() if times > 1]
        silent = [number for number in self.accepted if number not in self.done]
        wrong = [(number, must, states[number], self.said(number)) for number, must in self.accepted.items()
                 if must and number in states and states[number] not in (must, "error", "cancelled")]
        left = self.left()
        errors = self.scratch.rows("SELECT error, count(*) FROM jobs WHERE state = 'error' GROUP BY 1 ORDER BY 2 DESC")
        print(f"soak: {SECONDS:.0f} s, {CLIENTS} clients, KETTLE_SEED={SEED}, settled in {took:.0f} s")
        print("did      ", dict(self.did))
        print("killed   ", dict(self.killed))
        print("refused  ", dict(self.refused.most_common(12)))
        print("states   ", dict(collections.Counter(states.values())))
        print("errors   ", [(text[:110], count) for text, count in errors[:8]])
        print(f"accepted  {len(self.accepted)}, in the database {len(states)}")
        print(f"judged    {sum(1 for number in self.accepted if number not in lost)}")
        for word, found in (("doubled", doubled), ("without an event", silent), ("wrong", wrong), ("lost", lost), ("left", left)):
            print(f"{word:9} {len(found)} {found[:8] if found else ''}")
        return 1 if doubled or silent or wrong or lost or left or not self.accepted else 0


def main():
    needs("cpp", "local", "cli")
    soak = Soak()
    status = 1
    try:
        status = soak.run()
    finally:
        if soak.server and soak.server.poll() is None:
            soak.server.kill()
            soak.server.wait()
        if status:
            kept = f"/tmp/kettle-soak-{os.getpid()}.log"
            pathlib.Path(kept).write_bytes((soak.scratch.root / "serve.log").read_bytes())
            print(f"soak: the server's log is kept: {kept}")
        end = time.monotonic() + 30
        while soak.scratch.remains() and time.monotonic() < end:
            time.sleep(0.2)
        soak.disk.close()
        soak.scratch.close()
    sys.exit(status)


main()
