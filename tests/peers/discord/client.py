# SPDX-License-Identifier: MIT
"""The fake Discord for tests in Python: starts it, and does what fake.py describes. Needs no package."""
import json
import pathlib
import sys
import urllib.parse

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "lib"))
from fake_client import Failed, FakeClient, interpreter  # noqa: E402
from polling import BUSY  # noqa: E402, F401


class Fake(FakeClient):
    def __init__(self, python, log="", **settings):
        """python: an interpreter with aiohttp and cryptography."""
        super().__init__(HERE, python, log, **settings)

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

    def wait(self, interaction, until=None):
        """An interaction once it is answered (not only deferred), or once until(it) is true."""
        return self.poll(lambda: self.ready(interaction, until), lambda: f"an answer to {self.interaction(interaction)}")

    def ready(self, interaction, until):
        found = self.interaction(interaction)
        if found["state"] == "failed":
            raise Failed(f"{found['problem']}: {found}")
        return found if (until(found) if until else found["state"] == "answered") else None

    def ask(self, user, command, options=None, **more):
        """Invokes a command and waits; the interaction with what is visible."""
        return self.wait(self.command(user, command, options, **more))

    def connected(self):
        """Waits until the bot is in the gateway."""
        return self.poll(lambda: [one for one in self.get("gateway")["sessions"] if one["connected"]], lambda: "the bot")

    # What there is

    def messages(self, channel, viewer=None, system=False):
        """system: with those that Discord itself writes, such as "added bob to the thread"."""
        found = self.get("messages", channel=channel, **({"viewer": viewer} if viewer else {}))
        return [one for one in found["messages"] if system or one["type"] not in (1, 18)]

    def threads(self, parent=None):
        found = [one for one in self.get("channels")["channels"] if one["type"] in (11, 12) and not one["deleted"]]
        return [one for one in found if parent is None or one["parent_id"] == parent]

    def check(self):
        """Fails if the bot broke a rule or made an invalid request."""
        violations, invalid = self.get("violations")["violations"], self.get("invalid")["invalid"]
        if violations or invalid:
            raise AssertionError(f"violations: {json.dumps(violations[:10])}; invalid requests: {json.dumps(invalid[:10])}")

    def transcript(self, **query):
        return self.request("GET", "transcript.html?" + urllib.parse.urlencode(query, doseq=True), raw=True).decode()


def python():
    """The interpreter of the tests' environment, or None."""
    return interpreter("KETTLE_TEST_DISCORD")
