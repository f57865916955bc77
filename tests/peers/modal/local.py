# SPDX-License-Identifier: MIT
"""Calls of modal_app.py on this machine: a process per call, and a table of files.

Theory of operation. FOLDER/calls/ID holds a call: its input, and once it has ended its answer, which is renamed into place.
The process of a call is this file, run with the folder of the call; it runs the function body of modal_app.py, `execute`,
and ends with the server that started it. FOLDER/table holds the entries of the table by the SHA-256 of their keys; an entry
is there as a whole or not at all. While FOLDER/hold exists, calls do not begin: this is a cold start of any length.
"""
import concurrent.futures
import ctypes
import hashlib
import importlib.util
import json
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time
import uuid

DIE_WITH_PARENT = 1  # PR_SET_PDEATHSIG


def load_app(file):
    """The module modal_app of this file."""
    sys.dont_write_bytecode = True
    spec = importlib.util.spec_from_file_location("modal_app", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def write_whole(path, data):
    partial = path.with_name(f"{path.name}.{uuid.uuid4().hex}")
    partial.write_bytes(data)
    partial.rename(path)


class Table:
    """What modal_app.py uses of a modal.Dict."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder) / "table"
        self.folder.mkdir(exist_ok=True)

    def path(self, key):
        return self.folder / hashlib.sha256(key.encode()).hexdigest()

    def put(self, key, value, *, skip_if_exists=False):
        path = self.path(key)
        partial = path.with_name(f"{path.name}.{uuid.uuid4().hex}")
        partial.write_text(json.dumps(value))
        if not skip_if_exists:
            partial.rename(path)
            return True
        try:
            os.link(partial, path)
            return True
        except FileExistsError:
            return False
        finally:
            partial.unlink()

    def get(self, key, default=None):
        try:
            return json.loads(self.path(key).read_text())
        except FileNotFoundError:
            return default

    def pop(self, key, default=None):
        value = self.get(key, default)
        self.path(key).unlink(missing_ok=True)
        return value


class Calls:
    """The calls to Modal, as ModalCalls of modal_app.py has them."""

    def __init__(self, app, app_file, folder, program, key, limit):
        self.app, self.app_file, self.folder = app, app_file, pathlib.Path(folder)
        self.program, self.key, self.limit = program, key, limit
        self.processes, self.lock = {}, threading.Lock()
        # "Parent" of PR_SET_PDEATHSIG is the thread that forked, and those of requests end.
        self.starter = concurrent.futures.ThreadPoolExecutor(1)
        (self.folder / "calls").mkdir(exist_ok=True)

    def spawn(self, device, kind, job, data):
        call = "fc-" + uuid.uuid4().hex
        place = self.folder / "calls" / call
        place.mkdir()
        (place / "data").write_bytes(data)
        write_whole(place / "call.json", json.dumps({"kind": kind, "job": job, "device": device, "call": call,
                                                     "app": str(self.app_file), "program": str(self.program),
                                                     "limit": self.limit}).encode())
        process = self.starter.submit(self.start, place).result()
        with self.lock:
            self.processes[call] = process
        return call

    def start(self, place):
        prctl = ctypes.CDLL(None).prctl
        return subprocess.Popen([sys.executable, __file__, str(place)], env={**os.environ, "KETTLE_KEY": self.key},
                                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                preexec_fn=lambda: prctl(DIE_WITH_PARENT, signal.SIGTERM))

    def get(self, call):
        place = self.folder / "calls" / call
        with self.lock:
            process = self.processes.get(call)
            ended = process is None or process.poll() is not None
        if not place.is_dir():
            return {}
        try:
            answer = json.loads((place / "answer.json").read_text())
        except FileNotFoundError:
            return {"error": "The function failed."} if ended else None
        return {"result": (place / "result").read_bytes()} if answer == {} else answer

    def cancel(self, call):
        with self.lock:
            process = self.processes.get(call)
            if process and process.poll() is None:
                process.terminate()

    def queue(self, device):
        """Calls that have not begun wait. One that is just made, or expires meanwhile, has no call.json."""
        counts = {"waiting": 0, "running": 0}
        for place in (self.folder / "calls").iterdir():
            try:
                call = json.loads((place / "call.json").read_text())
            except FileNotFoundError:
                continue
            if call["device"] == device and not (place / "answer.json").exists():
                begun = Table(self.folder).get("started:" + place.name)
                counts["running" if begun else "waiting"] += 1
        return counts

    def close(self):
        for process in self.processes.values():
            if process.poll() is None:
                process.terminate()
            process.wait()


class Cancelled(BaseException):
    """As modal.exception.InputCancellation."""


def run(place):
    def cancel(*_):
        raise Cancelled()

    signal.signal(signal.SIGTERM, cancel)
    try:
        call = json.loads((place / "call.json").read_text())
        app = load_app(call["app"])
        while (place.parent.parent / "hold").exists():
            time.sleep(0.02)
        secret = app.take_secret()
        answer = app.execute(call["kind"], call["job"], (place / "data").read_bytes(), call["call"],
                             Table(place.parent.parent), call["program"], secret, call["limit"])
    except Cancelled:
        answer = {"error": "The call was cancelled."}
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if "result" in answer:
        write_whole(place / "result", answer.pop("result"))
    write_whole(place / "answer.json", json.dumps(answer).encode())


if __name__ == "__main__":
    run(pathlib.Path(sys.argv[1]))
