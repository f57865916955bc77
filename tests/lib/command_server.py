# SPDX-License-Identifier: MIT
"""KETTLE_TEST_SERVER=1: the command lines of a test call a server of the frontend web, by HTTP, in place of the database. The test is the
same one; it must need no owner of the database in its own process."""
import json
import os
import re
import signal

from polling import poll

WANTED = os.environ.get("KETTLE_TEST_SERVER") == "1"
WEB = "frontends: {cli: {}, web: {listen: '127.0.0.1:0', url: 'http://kettle.test'}}\n"
OPTIONS = ("--db", "--config", "--server")  # with these a command line has said where it works


class CommandServer:
    """The server of a scratch folder, and the tokens of its users there."""

    def __init__(self, scratch):
        self.scratch, self.child, self.text, self.port, self.tokens, self.made = scratch, None, None, None, {}, 0
        self.config = scratch.root / "server.yml"

    def started(self, child):
        """A server of the test, or of this class."""
        self.child, self.tokens = child, {}
        found = poll(lambda: re.search(r"web.* port (\d+)\.", child.log.read_text()) or child.poll() is not None, "the server's port")
        assert found is not True, f"kettle serve ended:\n{child.log.read_text()}"
        self.port = found[1]
        self.token(None)  # before those of others: the first user is the admin
        return child

    def stop(self):
        if self.child and self.child.poll() is None:
            self.child.send_signal(signal.SIGTERM)
            self.child.wait()
        self.child = None

    def arguments(self):
        """Those of `kettle serve` with the frontend web."""
        self.stop()
        self.text = self.scratch.config.read_text()
        assert not re.search("^frontends:", self.text, re.M), "the test has frontends of its own"
        self.config.write_text(self.text + WEB)
        return ["--config", str(self.config), "serve"]

    def token(self, user):
        if user not in self.tokens:
            options = () if user is None else ("--user", user)
            self.made += 1
            made = self.scratch.run(*options, "token", "create", f"of test {self.made}", "--json", local=True)
            self.tokens[user] = json.loads(made.stdout)["token"]
        return self.tokens[user]

    def environment(self, arguments, given):
        """What a command line needs to call the server; nothing where it works elsewhere."""
        words, given = [str(word) for word in arguments], given or {}
        if set(words) & set(OPTIONS) or {"KETTLE_DB", "KETTLE_CONFIG", "HOME"} & set(given):
            return {}
        if not self.child or self.child.poll() is not None or self.text != self.scratch.config.read_text():
            self.started(self.scratch.start(*self.arguments(), local=True))
        user = words[words.index("--user") + 1] if "--user" in words else given.get("KETTLE_USER")
        # What would open a database all the same finds none.
        return {"KETTLE_SERVER": f"http://127.0.0.1:{self.port}", "KETTLE_TOKEN": self.token(user), "KETTLE_DB": str(self.scratch.root / "absent" / "none.db")}
