# SPDX-License-Identifier: MIT
"""Commands under time limits: nothing that hangs, floods or stays behind holds up who called it."""
import os
import shlex
import signal
import subprocess
import tempfile
import time

KEPT = 1 << 20  # bytes of an output that are read: the first and the last half
DYING = 5  # seconds that a killed process is waited for; one that a driver holds in the kernel is left behind


class Budget:
    """What is left of the time for everything."""

    def __init__(self, seconds):
        self.began = time.monotonic()
        self.end = self.began + seconds

    def left(self):
        return self.end - time.monotonic()

    def spent(self):
        return time.monotonic() - self.began


class Done:
    """A command that has ended: status (a signal is negative; None: it could not be started or did not die), stdout, stderr,
    seconds, late (it was killed at its limit)."""

    def __init__(self, command, status, stdout, stderr, seconds, late):
        self.command, self.status, self.stdout, self.stderr = command, status, stdout, stderr
        self.seconds, self.late = seconds, late

    def ok(self):
        return self.status == 0

    def why(self):
        """A sentence for a command that did not end with 0."""
        last = (self.stderr.strip() or self.stdout.strip()).splitlines()[-1:] or ["it said nothing"]
        end = "was killed at its limit of %.0f s" % self.seconds if self.late else "ended with %s" % self.status
        return "`%s` %s: %s" % (os.path.basename(self.command.split(" ")[0]), end, last[0][:300])

    def evidence(self):
        return {"command": self.command, "exit": self.status, "seconds": round(self.seconds, 2), "late": self.late,
                "stdout": ends(self.stdout), "stderr": ends(self.stderr)}


def ends(text, size=6000):
    """First and last part of a text."""
    if len(text) <= size:
        return text
    return "%s\n[… %d characters left out …]\n%s" % (text[:size // 3], len(text) - size, text[-(size - size // 3):])


def read_ends(file):
    """What a command wrote to an open file, bounded."""
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    data = file.read(KEPT // 2)
    if size > KEPT:
        file.seek(size - KEPT // 2)
        data += b"\n[... %d bytes left out ...]\n" % (size - KEPT)
    data += file.read(KEPT // 2)
    return data.decode("utf-8", "replace")


def descendants(root):
    """Process ids below a process, by what /proc says now."""
    children = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open("/proc/%s/stat" % name) as file:
                    children.setdefault(int(file.read().rsplit(")", 1)[1].split()[1]), []).append(int(name))
            except (OSError, IndexError, ValueError):
                pass
    found, ahead = [], [root]
    while ahead:
        more = children.get(ahead.pop(), [])
        found += more
        ahead += more
    return found


def stop(child, seconds=2):
    """Asks a process to end, and kills it and all below it where it does not. Returns whether it is dead."""
    try:
        os.kill(child.pid, signal.SIGTERM)
        child.wait(seconds)
    except subprocess.TimeoutExpired:
        return kill(child)
    except OSError:
        pass
    return True


def kill(child):
    """Ends a process and all below it, and waits a little. Returns whether it is dead."""
    for pid in [child.pid] + descendants(child.pid):
        for end in (os.killpg, os.kill) if pid == child.pid else (os.kill,):
            try:
                end(pid, signal.SIGKILL)
            except OSError:
                pass
    try:
        child.wait(DYING)
    except subprocess.TimeoutExpired:
        return False
    return True


class Commands:
    """Runs commands within a budget, and writes down each with its end."""

    LOG_LIMIT = 12 << 20

    def __init__(self, budget, log, reserve=8):
        self.budget, self.log, self.reserve, self.logged = budget, log, reserve, 0

    def run(self, *command, limit=30, env=None, cwd=None, user=None, quiet=False):
        """Runs a command to its end or its limit, whichever is first; never raises for what the command does. env: in place
        of ours; user: a uid to run as (of root alone); quiet: one that passes is not written down."""
        command = [str(word) for word in command]
        limit = max(1, min(limit, self.budget.left() - self.reserve))
        began = time.monotonic()
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            status, late = None, False
            try:
                child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=env, cwd=cwd,
                                         start_new_session=True, **as_user(user))
            except OSError as error:
                done = Done(shlex.join(command), None, "", "it could not be started: %s" % error, 0, False)
                self.write(done)
                return done
            try:
                status = child.wait(limit)
            except subprocess.TimeoutExpired:
                late = True
                status = child.returncode if stop(child) else None
            done = Done(shlex.join(command), status, read_ends(out), read_ends(err), time.monotonic() - began, late)
        if not quiet or not done.ok():
            self.write(done)
        return done

    def write(self, done):
        text = "%8.2f s  exit %s%s in %.2f s: %s\n" % (self.budget.spent(), done.status, " (late)" if done.late else "",
                                                    done.seconds, done.command)
        for name, output in (("out", done.stdout), ("err", done.stderr)):
            text += "".join("    %s| %s\n" % (name, line) for line in ends(output, 2000).splitlines())
        self.note(text)

    def note(self, text):
        """Adds lines to the log, as long as there is room."""
        self.logged += len(text)
        if self.log and self.logged < self.LOG_LIMIT:
            with open(self.log, "a", encoding="utf-8", errors="replace") as file:
                file.write(text)


def as_user(user):
    """Arguments of Popen for another user."""
    return {} if user is None else {"user": user, "group": user, "extra_groups": []}
