# SPDX-License-Identifier: MIT
"""The fake GitHub for tests in Python: starts it, and does what fake.py describes. Needs no package."""
import http.client
import json
import os
import pathlib
import subprocess
import time
import urllib.parse

HERE = pathlib.Path(__file__).resolve().parent
BUSY = 5  # how many times longer than it should something may take on a machine that has too much to do


class Failed(Exception):
    """A control that was refused."""


class Fake:
    def __init__(self, python, log=None, before=(), **settings):
        """python: an interpreter with aiohttp and PyYAML. log: a file for its stderr. before: words of a command that runs it."""
        self.process = subprocess.Popen([*before, str(python), "-B", str(HERE / "fake.py")], stdout=subprocess.PIPE, stderr=log, text=True)
        line = self.process.stdout.readline()
        if not line:
            raise Failed(f"the fake GitHub did not start: status {self.process.wait()}")
        self.__dict__.update(json.loads(line))
        if settings:
            self.post("settings", **settings)

    def close(self):
        """Ends it, and the steps that it runs."""
        self.process.terminate()
        try:
            self.process.wait(20 * BUSY)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def request(self, method, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60 * BUSY)
        try:
            connection.request(method, f"/control/{path}", None if body is None else json.dumps(body), {"Content-Type": "application/json"})
            answer = connection.getresponse()
            data = answer.read()
        finally:
            connection.close()
        if answer.status != 200:
            raise Failed(f"{method} {path}: {data.decode(errors='replace')}")
        return json.loads(data)

    def post(self, path, /, **body):
        return self.request("POST", path, body)

    def get(self, path, /, **query):
        return self.request("GET", path + ("?" + urllib.parse.urlencode(query) if query else ""))

    def repo(self, name, folder, **more):
        return self.post("repo", name=name, folder=str(folder), **more)

    def behave(self, repo, times=1, **do):
        self.post("behave", repo=repo, times=times, do=do)

    def fault(self, do, times=1, after=0, **match):
        return self.post("faults", match=match, times=times, after=after, do=do)["fault"]

    def clear_faults(self):
        self.request("DELETE", "faults")

    def runs(self, repo=None):
        return self.get("runs", **({"repo": repo} if repo else {}))["runs"]

    def counters(self, repo=None):
        return self.get("counters", **({"repo": repo} if repo else {}))

    def violations(self):
        return self.get("violations")["violations"]

    def poll(self, condition, seconds=30, what=lambda: "a condition"):
        end = time.monotonic() + seconds * BUSY
        while True:
            value = condition()
            if value:
                return value
            if time.monotonic() > end:
                raise Failed(f"{what()} did not come within {seconds * BUSY} s")
            time.sleep(0.02)

    def check(self):
        """Fails if a rule was broken."""
        violations = self.violations()
        if violations:
            raise AssertionError(f"{len(violations)} violations: {json.dumps(violations[:10], indent=1)}")


def python():
    """The interpreter of the tests' environment, or None."""
    given = os.environ.get("KETTLE_TEST_GITHUB")
    return given if given and os.access(given, os.X_OK) else None
