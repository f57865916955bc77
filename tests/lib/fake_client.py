# SPDX-License-Identifier: MIT
"""The client of a fake server of tests/peers, a program fake.py: starts it and talks to its controls; and the proofs that it is like
the real one. Needs no package."""
import http.client
import json
import os
import pathlib
import subprocess
import threading
import urllib.parse

from polling import BUSY, poll

KEEPER = pathlib.Path(__file__).resolve().with_name("fake_keeper.py")


class Failed(Exception):
    """A control that was refused."""


class Keeper:
    """A process that has imported a fake, which takes longer than all else of a start, and starts it as copies (fake_keeper.py). It
    ends with this process."""
    all = {}

    def __init__(self, command):
        self.using = threading.Lock()
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def order(self, text):
        """The line that answers."""
        with self.using:
            self.process.stdin.write(f"{text}\n")
            self.process.stdin.flush()
            return self.process.stdout.readline().strip()

    @classmethod
    def of(cls, *command):
        if command not in cls.all:
            cls.all[command] = cls(command)
        return cls.all[command]

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


class FakeClient:
    def __init__(self, folder, python, log="", before=(), **settings):
        """folder: of fake.py. python: an interpreter with what it imports. log: a file for its stderr. before: words of a command that
        runs it."""
        command = (*map(str, before), str(python), "-B", str(KEEPER), str(folder))
        self.keeper, self.apart = Keeper(command) if before else Keeper.of(*command), bool(before)
        line = self.keeper.order(f"start {log}")
        if not line:
            raise Failed(f"the fake {folder.name} did not start")
        self.__dict__.update(json.loads(line))
        if settings:
            self.post("settings", **settings)

    def close(self):
        """Ends it, and what it runs."""
        self.keeper.order(f"end {self.pid}")
        if self.apart:
            self.keeper.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def request(self, method, path, body=None, raw=False):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60 * BUSY)
        try:
            connection.request(method, f"/control/{path}", None if body is None else json.dumps(body), {"Content-Type": "application/json"})
            answer = connection.getresponse()
            data = answer.read()
        finally:
            connection.close()
        if answer.status != 200:
            raise Failed(f"{method} {path}: {data.decode(errors='replace')}")
        return data if raw else json.loads(data)

    def post(self, path, /, **body):
        return self.request("POST", path, body)

    def get(self, path, /, **query):
        return self.request("GET", path + ("?" + urllib.parse.urlencode(query) if query else ""))

    def fault(self, do, times=1, after=0, **match):
        return self.post("faults", match=match, times=times, after=after, do=do)["fault"]

    def clear_faults(self):
        self.request("DELETE", "faults")

    poll = staticmethod(poll)


def interpreter(variable):
    """The interpreter of the tests' environment that a variable names, or None."""
    given = os.environ.get(variable)
    return given if given and os.access(given, os.X_OK) else None


class Proofs:
    """Programs of a folder that print results, all at once; their lines come with numbers, one program after the other."""

    def __init__(self, folder, python, limit_s):
        self.folder, self.python, self.limit_s, self.printing, self.results = folder, python, limit_s, threading.Lock(), []

    def run(self, proof):
        child = subprocess.Popen([self.python, "-B", str(self.folder / proof)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                 errors="replace")
        guard = threading.Timer(self.limit_s, child.kill)
        guard.start()
        lines = [line.rstrip("\n") for line in child.stdout]
        guard.cancel()
        ended = child.wait()
        lines.append(f"{'ok' if ended == 0 else 'not ok'} - {proof} ends{'' if ended == 0 else f' with {ended}'}")
        with self.printing:
            for line in lines:
                self.show(line)

    def show(self, line):
        kind, dash, name = line.partition(" - ")
        if dash and kind in ("ok", "not ok"):
            self.results.append(kind)
            print(f"{kind} {len(self.results)} - {name}", flush=True)
        else:
            print(line if line.startswith("#") else f"# {line}", flush=True)


def run_proofs(folder, names, limit_s, python, needs):
    """The test of a fake: runs its proofs, each for at most so long, where there is an interpreter for them."""
    if not python:
        print(f"1..0 # SKIP no environment with {needs} (./quickstart test makes it)")
        return
    proofs = Proofs(folder, python, limit_s)
    threads = [threading.Thread(target=proofs.run, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(f"1..{len(proofs.results)}", flush=True)
