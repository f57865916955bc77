# SPDX-License-Identifier: MIT
"""A client of the socket of a database's owner, as a command line is one, at a hundredth of its price."""
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


class Ended(Exception):
    """The owner has ended, before or during the call."""


def _messages(database, user, **message):
    """The messages that come to this one of the user, or of the one whom the tests run as."""
    user = user or pwd.getpwuid(os.geteuid()).pw_name
    try:
        with socket.socket(socket.AF_UNIX) as owner:
            owner.settimeout(LIMIT_S)
            owner.connect(f"{database}.sock")
            actor = {"provider": "cli", "subject": user, "name": user}
            owner.sendall(json.dumps({"id": 1, "actor": actor, **message}).encode() + b"\n")
            with owner.makefile("rb") as lines:
                for found in (found for found in map(json.loads, lines) if found.get("id") == 1):
                    if "error" in found:
                        raise Refused(message.get("call", "subscribe"), found["error"])
                    yield found
    except (ConnectionError, FileNotFoundError) as error:
        raise Ended(str(error)) from error
    raise Ended("it has closed the connection")


def call(database, command, args, user=None):
    """The answer of a command, with its arguments as they go over the socket."""
    return next(found["result"] for found in _messages(database, user, call=command, args=args) if "result" in found)


def until(database, wanted, kind, after=0):
    """Waits for the first event of that kind behind a number, stored or to come, that a subscription with these members gets."""
    messages = _messages(database, None, subscribe=wanted, after=after)
    return next(found["event"] for found in messages if found.get("event", {}).get("kind") == kind)
