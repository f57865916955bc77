# SPDX-License-Identifier: MIT
"""Serves the shipped modal_app.py under the standard library's WSGI server, behind what Modal's proxy does.

    server.py APP FOLDER --program KETTLE_EXEC [--limit SECONDS] [--devices NAME,…]

Prints its port. The environment has KETTLE_KEY, TOKEN_ID and TOKEN_SECRET. It ends at the end of its input, with its calls.
The proxy checks the credentials, and answers 303 to a request that takes longer than `redirect_after` seconds, whose URL
then waits for the answer. POST /_test/control (without credentials) sets {"redirect_after", "hold", "expire": true, "faults":
[{"verb", "do", "times", …}]}, and answers {"requests": [[method, path, status]], "calls": number, "refused": number}.

What a fault does: "lose" handles the request and closes the connection without an answer, "drop" closes it at once, "hang"
answers once another control request has come, "status" answers `status` with `body`, "truncate" announces more than it sends,
"huge" sends `size` bytes, "body" answers 200 with `body`, "other" answers with what the call `call` has, "redirect" sends to `to`.
"""
import argparse
import base64
import json
import os
import pathlib
import shutil
import socketserver
import sys
import threading
import traceback
import uuid
import wsgiref.simple_server

import local

FOLLOWED_SECONDS = 30
HANG_LIMIT = 60  # seconds


class Server(socketserver.ThreadingMixIn, wsgiref.simple_server.WSGIServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, *_):
        pass  # connections that a fault has closed


class Handler(wsgiref.simple_server.WSGIRequestHandler):
    def log_message(self, *_):
        pass

    def get_environ(self):
        return {**super().get_environ(), "_test.connection": self.connection}


class Answer:
    """What an application answers, caught. One that fails answers 500, and the log says why."""

    def __init__(self, application, environ):
        try:
            self.body = b"".join(application(environ, self.start))
        except Exception:
            traceback.print_exc()
            self.status, self.headers, self.body = "500 Internal Server Error", [("Content-Type", "text/plain")], b"failed"

    def start(self, status, headers):
        self.status, self.headers = status, headers


def answer_json(status, value):
    return lambda _environ, start: (start(status, [("Content-Type", "application/json")]), [json.dumps(value).encode()])[1]


class Proxy:
    """Modal's proxy before the application, with faults."""

    def __init__(self, application, calls, folder):
        self.application, self.calls, self.folder = application, calls, folder
        self.redirect_after, self.faults, self.requests, self.refused = 150, [], [], 0
        self.running, self.lock, self.changed = {}, threading.Lock(), threading.Condition()
        self.generation = 0

    def __call__(self, environ, start):
        path = environ["PATH_INFO"]
        if path == "/_test/control":
            return self.control(environ)(environ, start)
        given = environ.get("HTTP_MODAL_KEY"), environ.get("HTTP_MODAL_SECRET")
        if given != (os.environ["TOKEN_ID"], os.environ["TOKEN_SECRET"]):
            self.refused += 1
            start("401 Unauthorized", [("Content-Type", "text/plain")])
            return [b"modal-http: missing credentials for proxy authorization"]
        fault = self.fault_of(path.split("/")[1])
        if fault and fault["do"] not in ("lose", "hang"):
            return self.misbehave(fault, environ, start)
        if fault and fault["do"] == "hang":
            self.hang()
        answer = self.handle(environ)
        with self.lock:
            self.requests.append([environ["REQUEST_METHOD"], path, int(answer.status[:3])])
        if fault and fault["do"] == "lose":
            return self.close(environ, start)
        start(answer.status, answer.headers)
        return [answer.body]

    def control(self, environ):
        wishes = json.loads(environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"])))
        self.redirect_after = wishes.get("redirect_after", self.redirect_after)
        self.faults = wishes.get("faults", self.faults)
        if "hold" in wishes:
            (self.folder / "hold").touch() if wishes["hold"] else (self.folder / "hold").unlink(missing_ok=True)
        if wishes.get("expire"):
            shutil.rmtree(self.folder / "calls")
            (self.folder / "calls").mkdir()
        with self.changed:
            self.generation += 1
            self.changed.notify_all()
        return answer_json("200 OK", {"requests": self.requests, "refused": self.refused, "calls": len(self.calls.processes),
                                      "faults": [fault for fault in self.faults if fault["times"]]})

    def fault_of(self, verb):
        with self.lock:
            for fault in self.faults:
                if fault["verb"] == verb and fault["times"] > 0:
                    fault["times"] -= 1
                    return fault
        return None

    def hang(self):
        with self.changed:
            before = self.generation
            self.changed.wait_for(lambda: self.generation != before, HANG_LIMIT)

    def handle(self, environ):
        """The answer, or the redirect to it."""
        query = environ.get("QUERY_STRING", "")
        number = query.partition("__modal_function_call_id=")[2]
        patience = self.redirect_after
        with self.lock:
            entry = self.running.get(number)
        if entry is not None:  # clients follow a few redirects only, however slow this machine is
            patience = max(patience, FOLLOWED_SECONDS)
        if entry is None:
            number, entry = uuid.uuid4().hex, {}
            entry["thread"] = threading.Thread(target=lambda: entry.update(answer=Answer(self.application, environ)), daemon=True)
            entry["thread"].start()
        entry["thread"].join(patience)
        if "answer" in entry:
            return entry["answer"]
        with self.lock:
            self.running[number] = entry
        url = f"http://{environ['HTTP_HOST']}{environ['PATH_INFO']}?__modal_function_call_id={number}"
        return Answer(lambda _environ, start: (start("303 See Other", [("Location", url)]), [b""])[1], environ)

    def close(self, environ, start):
        environ["_test.connection"].shutdown(2)
        start("200 OK", [])
        return [b""]

    def misbehave(self, fault, environ, start):
        do = fault["do"]
        if environ.get("CONTENT_LENGTH"):
            environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"]))
        with self.lock:
            self.requests.append([environ["REQUEST_METHOD"], environ["PATH_INFO"], do])
        if do == "drop":
            return self.close(environ, start)
        if do == "huge":
            start("200 OK", [("Content-Type", "application/json")])
            return (b" " * 65536 for _ in range(fault["size"] // 65536))
        if do == "truncate":
            start("200 OK", [("Content-Length", "1000")])
            return [b'{"id": "fc-']
        if do == "redirect":
            start("303 See Other", [("Location", fault["to"])])
            return [b""]
        if do == "other":
            start("200 OK", [("Content-Type", "application/octet-stream")])
            return [(self.folder / "calls" / fault["call"] / "result").read_bytes()]
        body = base64.b64decode(fault["base64"]) if "base64" in fault else fault.get("body", "").encode()
        start(fault.get("status", "200 OK"), [("Content-Type", "application/json")])
        return [body]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("app", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--program", required=True)
    parser.add_argument("--limit", type=float, default=600)
    parser.add_argument("--devices", default="gpu")
    given = parser.parse_args()
    app = local.load_app(given.app)
    given.folder.mkdir(exist_ok=True)
    calls = local.Calls(app, given.app, given.folder, given.program, os.environ["KETTLE_KEY"], given.limit)
    configuration = {**app.CONFIGURATION, "devices": [{"name": name} for name in given.devices.split(",")]}
    application = app.Application(configuration, calls, local.Table(given.folder))
    server = wsgiref.simple_server.make_server("127.0.0.1", 0, Proxy(application, calls, given.folder), Server, Handler)
    print(server.server_port, flush=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.stdin.read()
    calls.close()
    os._exit(0)  # requests that hang hold nothing up


if __name__ == "__main__":
    main()
