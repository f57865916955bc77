# SPDX-License-Identifier: MIT
"""A client of the socket of a database's owner, as a command line is one, at a hundredth of its price."""
import contextlib
import json
import os
import pwd
import socket

from polling import LIMIT_S


class Refused(Exception):
    """The error that answers; its members are `error`."""

    def __init__(self, command, error):
        super().__init__(f"{command}: {error}")
        self.error = error


@contextlib.contextmanager
def _asked(database, user, **message):
    """The messages that come to this one of the user, or of the one whom the tests run as."""
    user = user or pwd.getpwuid(os.geteuid()).pw_name
    with socket.socket(socket.AF_UNIX) as owner:
        owner.settimeout(LIMIT_S)
        owner.connect(f"{database}.sock")
        actor = {"provider": "cli", "subject": user, "name": user}
        owner.sendall(json.dumps({"id": 1, "actor": actor, **message}).encode() + b"\n")
        with owner.makefile("rb") as lines:
            yield (found for found in map(json.loads, lines) if found.get("id") == 1)


def call(database, command, args, user=None):
    """The answer of a command, with its arguments as they go over the socket."""
    with _asked(database, user, call=command, args=args) as messages:
        for found in messages:
            if "error" in found:
                raise Refused(command, found["error"])
            if "result" in found:
                return found["result"]
    raise Refused(command, "the owner has ended")


def until(database, wanted, kind, after=0):
    """Waits for the first event of that kind behind a number, stored or to come, that a subscription with these members gets."""
    with _asked(database, None, subscribe=wanted, after=after) as messages:
        for found in messages:
            if "error" in found:
                raise Refused("subscribe", found["error"])
            if found.get("event", {}).get("kind") == kind:
                return found["event"]
    raise Refused("subscribe", "the owner has ended")
