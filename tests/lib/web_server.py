# SPDX-License-Identifier: MIT
"""A Kettle with the frontend web, and requests to it: what the tests of that frontend share. Every answer is held against the OpenAPI
document when the server is stopped."""
import dataclasses
import functools
import http.client
import json
import re
import socket
import ssl
import subprocess

import kettle_test as kt
from fake_client import interpreter
from polling import LIMIT_S, poll

CHECK = kt.SOURCE / "tests" / "lib" / "check_openapi.py"


def independent():
    """The interpreter of the environment with clients that others have written."""
    found = interpreter("KETTLE_TEST_WEB")
    if not found:
        raise kt.Skip("no environment with schemathesis (./quickstart test makes it)")
    return found


RECORDS = []  # all answers since the last check


def record(method, path, sent, status, kind, body):
    """sent: the value that was sent as JSON, or None; body: None where it is a stream."""
    RECORDS.append({"method": method, "path": path, "sent": sent, "status": status, "type": kind, "body": None if body is None else body.decode(errors="replace")})


def popcorn():
    """The replayed client of KernelBot, whose answers are recorded, too."""
    module = kt.peer_client("popcorn")
    module.Client.told = staticmethod(lambda method, path, status, kind, body: record(method, path, None, status, kind, body))
    return module


@functools.lru_cache(maxsize=1)
def checker():
    return subprocess.Popen([independent(), "-B", CHECK], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("kettle.test", timeout=LIMIT_S)
        self.path = str(path)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


@dataclasses.dataclass
class Answer:
    status: int
    headers: http.client.HTTPMessage
    body: bytes

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def code(self):
        """Of an error."""
        return self.json["error"]["code"]


class Stream:
    """An event stream that is open."""

    def __init__(self, connection, answer):
        self.connection, self.answer, self.status = connection, answer, answer.status

    def block(self):
        """The fields of the next event; None: the stream has ended. A comment is no event."""
        found = {}
        while line := self.answer.readline():
            name, _, value = line.decode().rstrip("\n").partition(":")
            if line == b"\n" and "data" in found:
                return {**found, "data": json.loads(found["data"])}
            if name:
                assert name not in found, f"{name} comes twice in an event: {found}"
                found[name] = value.strip()
        return None

    def until(self, kind):
        """All events up to the first of that kind."""
        seen = []
        while not seen or seen[-1]["event"] != kind:
            block = self.block()
            assert block, f"the stream ended before `{kind}`: {seen}"
            seen.append(block)
        return seen

    def close(self):
        self.answer.close()
        self.connection.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Web:
    def __init__(self, scratch, port=False, env=None, **options):
        """port: it listens on a port that the system chooses, else on a unix socket."""
        self.scratch, self.socket = scratch, None if port else scratch.root / "web.sock"
        section = {"listen": "127.0.0.1:0" if port else f"unix:{self.socket}", "url": "http://kettle.test", **options}
        scratch.config.write_text(scratch.config.read_text() + f"frontends: {{cli: {{}}, web: {json.dumps(section)}}}\n")
        self.env, self.server, self.port, self.tls = env, None, None, "certificate" in options
        self.tokens = {}  # of do()

    def start(self):
        self.server = self.scratch.serve(env=self.env)
        if self.socket:
            poll(lambda: kt.listens(self.socket, self.server.pid), "the frontend's socket")
        else:
            found = poll(lambda: re.search(r"web.* port (\d+)\.", self.log()), lambda: f"the frontend's port:\n{self.log()}")
            self.port = int(found[1])
        return self

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def log(self):
        return self.server.log.read_text()

    def stop(self):
        if interpreter("KETTLE_TEST_WEB"):
            self.check_document()
        self.server.terminate()
        status = self.server.wait(timeout=60)
        assert status == 0, f"status {status}: {self.log()}"

    def token(self, user=None, name="test"):
        if self.server and self.server.poll() is None:
            return self.scratch.call("token.create", {"name": name}, user)["token"]
        return self.scratch.json(*(("--user", user) if user else ()), "token", "create", name)["token"]

    def do(self, command, args=None, user=None):
        """A command of a user, or of an admin, by HTTP."""
        if user not in self.tokens:
            self.tokens[user] = self.token(user, "of the test")
        return self.call(command, args, token=self.tokens[user])

    # ---- requests ----

    def connect(self):
        if self.socket:
            return UnixConnection(self.socket)
        if self.tls:
            return http.client.HTTPSConnection("127.0.0.1", self.port, timeout=LIMIT_S, context=ssl._create_unverified_context())
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=LIMIT_S)

    def open(self, method, path, body=None, headers=(), token=None):
        """Sends a request: (connection, answer). body: a value as JSON, or bytes as they are."""
        headers = dict(headers)
        if token:
            headers["Authorization"] = f"Bearer {token}"
        if body is not None and not isinstance(body, bytes):
            headers.setdefault("Content-Type", "application/json")
            body = json.dumps(body).encode()
        connection = self.connect()
        connection.request(method, path, body, headers)
        return connection, connection.getresponse()

    def request(self, method, path, body=None, headers=(), token=None):
        connection, answer = self.open(method, path, body, headers, token)
        found = Answer(answer.status, answer.headers, answer.read())
        connection.close()
        record(method, path, None if isinstance(body, bytes) else body, found.status, answer.headers.get("Content-Type"), found.body)
        return found

    def call(self, command, args=None, status=200, **more):
        """A command by POST."""
        found = self.request("POST", f"/api/v1/{command}", {} if args is None else args, **more)
        assert found.status == status, f"{command} {args}: {found.status}, not {status}: {found.body[:600]}"
        return found.json

    def get(self, path, status=200, **more):
        found = self.request("GET", path, **more)
        assert found.status == status, f"{path}: {found.status}, not {status}: {found.body[:600]}"
        return found

    def stream(self, path, method="GET", body=None, headers=(), token=None):
        connection, answer = self.open(method, path, body, {"Accept": "text/event-stream", **dict(headers)}, token)
        record(method, path, None, answer.status, answer.headers.get("Content-Type"), None)
        return Stream(connection, answer)

    def raw(self, data):
        """What comes to these bytes until the server closes the connection, which the last request says; None: it is reset, as where
        the server does not read all of them."""
        connection = self.connect()
        connection.connect()
        with connection.sock, connection.sock.makefile("rb") as stream:
            try:
                connection.sock.sendall(data)
                return stream.read()
            except ConnectionError:
                return None

    def ended(self, submission, token):
        """A submission when it is done."""
        def look():
            found = self.call("submission.show", {"id": submission}, token=token)
            return found["done"] and found
        return poll(look, f"the end of submission {submission}")

    # ---- the document ----

    def check_document(self, whole=False):
        """Fails unless all answers so far are as the OpenAPI document says; whole: and unless it is one."""
        document = self.get("/openapi.json").json
        process = checker()
        process.stdin.write(json.dumps({"document": document, "records": RECORDS, "whole": whole}) + "\n")
        process.stdin.flush()
        RECORDS.clear()
        faults = json.loads(process.stdout.readline() or '["check_openapi.py has ended"]')
        assert not faults, "\n".join(faults[:20])
