# SPDX-License-Identifier: MIT
"""The fake Discord for tests in Python: starts it, and does what fake.py describes. Needs no package."""
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
    def __init__(self, python, log=None, **settings):
        """python: an interpreter with aiohttp and cryptography. log: a file for its stderr."""
        self.process = subprocess.Popen([str(python), "-B", str(HERE / "fake.py")], stdout=subprocess.PIPE, stderr=log, text=True)
        line = self.process.stdout.readline()
        if not line:
            raise Failed(f"the fake Discord did not start: status {self.process.wait()}")
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

    # Users

    def command(self, user, command, options=None, **more):
        """Invokes a command; the identifier of the interaction."""
        return self.post("command", user=user, command=command, options=options or {}, **more)["interaction"]

    def complete(self, user, command, focused, options=None, **more):
        """The choices that are offered while an option is typed."""
        given = {focused: "", **(options or {})}
        one = self.post("autocomplete", user=user, command=command, focused=focused, options=given, **more)["interaction"]
        return self.wait(one)["choices"]

    def press(self, user, message, **which):
        return self.post("press", user=user, message=message, **which)["interaction"]

    def select(self, user, message, **which):
        return self.post("select", user=user, message=message, **which)["interaction"]

    def submit(self, interaction, values, **more):
        """The form that an interaction showed."""
        return self.post("modal", interaction=interaction, values=values, **more)["interaction"]

    # Waiting

    def interaction(self, identifier):
        return self.get(f"interactions/{identifier}")

    def wait(self, interaction, until=None, seconds=30):
        """An interaction once it is answered (not only deferred), or once until(it) is true."""
        return self.poll(lambda: self.ready(interaction, until), seconds, lambda: f"an answer to {self.interaction(interaction)}")

    def ready(self, interaction, until):
        found = self.interaction(interaction)
        if found["state"] == "failed":
            raise Failed(f"{found['problem']}: {found}")
        return found if (until(found) if until else found["state"] == "answered") else None

    def poll(self, condition, seconds=30, what=lambda: "a condition"):
        end = time.monotonic() + seconds * BUSY
        while True:
            value = condition()
            if value:
                return value
            if time.monotonic() > end:
                raise Failed(f"{what()} did not come within {seconds * BUSY} s")
            time.sleep(0.02)

    def ask(self, user, command, options=None, **more):
        """Invokes a command and waits; the interaction with what is visible."""
        return self.wait(self.command(user, command, options, **more))

    def connected(self, seconds=30):
        """Waits until the bot is in the gateway."""
        return self.poll(lambda: [one for one in self.get("gateway")["sessions"] if one["connected"]], seconds, lambda: "the bot")

    # What there is

    def messages(self, channel, viewer=None, system=False):
        """system: with those that Discord itself writes, such as "added bob to the thread"."""
        found = self.get("messages", channel=channel, **({"viewer": viewer} if viewer else {}))
        return [one for one in found["messages"] if system or one["type"] not in (1, 18)]

    def threads(self, parent=None):
        found = [one for one in self.get("channels")["channels"] if one["type"] in (11, 12) and not one["deleted"]]
        return [one for one in found if parent is None or one["parent_id"] == parent]

    def fault(self, do, times=1, after=0, **match):
        return self.post("faults", match=match, times=times, after=after, do=do)["fault"]

    def clear_faults(self):
        self.request("DELETE", "faults")

    def check(self):
        """Fails if the bot broke a rule or made an invalid request."""
        violations, invalid = self.get("violations")["violations"], self.get("invalid")["invalid"]
        if violations or invalid:
            raise AssertionError(f"violations: {json.dumps(violations[:10])}; invalid requests: {json.dumps(invalid[:10])}")

    def transcript(self, **query):
        return self.request("GET", "transcript.html?" + urllib.parse.urlencode(query, doseq=True), raw=True).decode()


def python():
    """The interpreter of the tests' environment, or None."""
    given = os.environ.get("KETTLE_TEST_DISCORD")
    return given if given and os.access(given, os.X_OK) else None
