# SPDX-License-Identifier: MIT
"""The client of a fake server of tests/peers, a program fake.py: starts it and talks to its controls. Needs no package."""
import http.client
import json
import os
import subprocess
import urllib.parse

from polling import BUSY, poll


class Failed(Exception):
    """A control that was refused."""


class FakeClient:
    def __init__(self, folder, python, log=None, before=(), **settings):
        """folder: of fake.py. python: an interpreter with what it imports. log: a file for its stderr. before: words of a command that
        runs it."""
        self.process = subprocess.Popen([*before, str(python), "-B", str(folder / "fake.py")], stdout=subprocess.PIPE, stderr=log, text=True)
        line = self.process.stdout.readline()
        if not line:
            raise Failed(f"the fake {folder.name} did not start: status {self.process.wait()}")
        self.__dict__.update(json.loads(line))
        if settings:
            self.post("settings", **settings)

    def close(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

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
