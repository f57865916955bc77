# SPDX-License-Identifier: MIT
"""Starts modal_app.py on this machine (server.py), steers it, and talks to it as a program of its own."""
import http.client
import json
import os
import pathlib
import subprocess
import sys
import urllib.error
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))
TOKEN_ID, TOKEN_SECRET = "wk-0123456789", "ws-abcdefghijklmnop"
CREDENTIALS = {"Modal-Key": TOKEN_ID, "Modal-Secret": TOKEN_SECRET}


def python():
    """The interpreter of the tests' environment with the package modal, or None."""
    given = os.environ.get("KETTLE_TEST_MODAL")
    return given if given and os.access(given, os.X_OK) else None


def configured(app, folder, configuration):
    """A copy of modal_app.py with this configuration in a folder; its path."""
    lines = pathlib.Path(app).read_text().split("\n")
    start = lines.index("CONFIGURATION = json.loads(r'''") + 1
    end = lines.index("''')", start)
    lines[start:end] = json.dumps(configuration, indent=1).split("\n")
    path = pathlib.Path(folder) / "modal_app.py"
    path.write_text("\n".join(lines))
    return path


class Served:
    """A server with its calls, in a folder that it makes."""

    def __init__(self, app, folder, program, key, limit=600, devices="gpu", before=()):
        """before: words of a command that runs it."""
        environment = {name: value for name, value in os.environ.items() if not name.startswith("KETTLE_")}
        environment.update(KETTLE_KEY=key, TOKEN_ID=TOKEN_ID, TOKEN_SECRET=TOKEN_SECRET)
        self.folder = pathlib.Path(folder)
        self.log = open(f"{folder}.log", "w")
        self.process = subprocess.Popen([*before, sys.executable, "-B", HERE / "server.py", app, folder, "--program", program, "--limit",
                                         str(limit), "--devices", devices], env=environment, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=self.log, text=True)
        self.port = int(self.process.stdout.readline())
        self.url = f"http://127.0.0.1:{self.port}"

    def close(self):
        self.process.stdin.close()
        self.process.wait(120)
        self.process.stdout.close()
        self.log.close()

    def request(self, method, path, body=None, headers=CREDENTIALS):
        """(status, body) after redirects; JSON is read. None: the connection ended without an answer."""
        request = urllib.request.Request(self.url + path, data=body, method=method, headers=headers)
        try:
            with OPENER.open(request, timeout=120) as found:
                status, kind, body = found.status, found.headers.get("Content-Type"), found.read()
        except urllib.error.HTTPError as error:
            with error:
                status, kind, body = error.code, error.headers.get("Content-Type"), error.read()
        except (http.client.RemoteDisconnected, ConnectionResetError, urllib.error.URLError):
            return None
        return status, json.loads(body) if kind == "application/json" else body

    def submit(self, job, body=b"KTLE1\n plan", device="gpu", **more):
        return self.request("POST", f"/submit/{device}", body, {**CREDENTIALS, "Idempotency-Key": job}, **more)

    def control(self, **wishes):
        return self.request("POST", "/_test/control", json.dumps(wishes).encode())[1]
