# SPDX-License-Identifier: MIT
"""Kettle's jobs on Modal: one app that takes sealed plans over HTTPS and runs them on GPUs.

`kettle runner init` writes this file with its configuration, `modal deploy modal_app.py` deploys it; kettle-modal(7)
describes both, and the paths below.

Theory of operation. The function `web` is a WSGI application behind Modal's proxy, which checks the caller's token. It
spawns calls of one function per device, `run_job`, which runs `kettle-exec --sealed`: what goes through here and through
Modal is encrypted for kettle-exec and for the engine. A table (a modal.Dict) remembers which call belongs to which job:
"call:JOB" is what a repeated submission answers, "claim:JOB" says that a request is about to spawn it, "run:JOB" is the
call that began to run first and is the only one that does, or VOID, and "started:CALL" says that a call has begun.
"""
import concurrent.futures
import ctypes
import hashlib
import json
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import time

try:
    import modal
except ImportError:  # the application below also works without it, with other calls
    modal = None

# ---- Configuration: edit it and deploy again ----
CONFIGURATION = json.loads(r'''
{"app": "kettle", "secret": "kettle", "archive": null, "devices": []}
''')
# ---- End of the configuration ----

INTERFACE = 1  # version of the paths below; the runner refuses another one
MAX_PLAN = 8 << 20  # bytes of a sealed plan, the most that the runner sends
MAX_POLL = 256 << 10
MAX_RESULT = 256 << 20
MAX_POLLED = 1000  # calls of one /poll
MAX_COMPLAINT = 2000  # bytes kept of kettle-exec's standard error
CLAIM_LIFE = 30  # seconds after which a claim without a call is taken over: its request died
CLAIM_WAIT = 20  # seconds for which a second request waits for the first one's call
END_BEFORE = 20  # seconds before a function's own timeout, when kettle-exec is told to end
KILL_AFTER = 10  # seconds that kettle-exec has to end
POLL_THREADS = 16
MIN_TIMEOUT, DEFAULT_TIMEOUT, MAX_TIMEOUT = 60, 900, 86400  # seconds of a function
MAGIC = b"KTLE1\n"
KEY = "KETTLE_KEY"
HOME = "/opt/kettle-exec"
KEY_FORM = re.compile(r"[A-Za-z0-9._-]{1,200}")
NAME_FORM = re.compile(r"[A-Za-z0-9_-]{1,60}")
CALL_FORM = re.compile(r"[A-Za-z0-9_-]{1,100}")
STATUS = {200: "OK", 202: "Accepted", 400: "Bad Request", 404: "Not Found", 405: "Method Not Allowed", 410: "Gone",
          411: "Length Required", 413: "Content Too Large", 500: "Internal Server Error", 503: "Service Unavailable"}
JOB, DOCTOR = "job", "doctor"
VOID = "void"  # in place of the call that runs a job: no call may run it any more
SECRET = []  # the key, kept for later calls of this container


class Refused(Exception):
    """An answer other than 200, with its sentence."""

    def __init__(self, status, sentence, **more):
        super().__init__(sentence)
        self.status, self.answer = status, dict(more, error=sentence)


# ---- The function of a device ----

def end(process):
    """Tells kettle-exec to end, which then still writes a result; kills it with all its processes if it does not."""
    for number, seconds in ((signal.SIGTERM, KILL_AFTER), (signal.SIGKILL, None)):
        if process.poll() is None:
            try:
                (os.kill if number == signal.SIGTERM else os.killpg)(process.pid, number)
            except ProcessLookupError:
                pass
            try:
                process.wait(seconds)
            except subprocess.TimeoutExpired:
                pass


def run_exec(arguments, folder, limit, secret=None):
    """Runs kettle-exec for at most `limit` seconds; its exit status, its output and the end of its complaints."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("MODAL_", KEY))}
    if secret:
        environment[KEY] = secret
    with open(folder / "output", "w+b") as output, open(folder / "complaints", "w+b") as complaints:
        process = subprocess.Popen(arguments, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=complaints,
                                   start_new_session=True)
        try:
            process.wait(limit)
        except subprocess.TimeoutExpired:
            pass
        finally:  # also if Modal cancels the call
            end(process)
        output.seek(0)
        complaints.seek(max(0, complaints.seek(0, os.SEEK_END) - MAX_COMPLAINT))
        return process.returncode, output.read(MAX_RESULT), complaints.read().decode(errors="replace").strip()


def execute(kind, job, data, call, table, program, secret, limit):
    """Runs one call: {"result": bytes}, {"error": sentence}, or {"superseded": the call that runs the job}. Raises nothing
    itself, since the caller could not tell that from Modal's errors."""
    if kind == JOB and not table.put("run:" + job, call, skip_if_exists=True):
        first = table.get("run:" + job)
        if first == VOID:
            return {"error": "The job was given up before it began."}
        if first != call:  # the same if Modal has moved the call to another container
            return {"superseded": first}
    table.put("started:" + call, time.time())
    try:
        with tempfile.TemporaryDirectory(prefix="kettle-") as name:
            folder = pathlib.Path(name)
            if kind == DOCTOR:
                status, output, complaint = run_exec([program, "--doctor", "--json"], folder, limit)
                return {"result": output} if output else {"error": f"kettle-exec --doctor exited with {status}: {complaint}"}
            (folder / "plan").write_bytes(data)
            status, _, complaint = run_exec([program, "--sealed", str(folder / "plan"), "--result", str(folder / "result")],
                                            folder, limit, secret)
            if not (folder / "result").exists():
                return {"error": f"kettle-exec ended with status {status} and without a result: {complaint}"}
            if (folder / "result").stat().st_size > MAX_RESULT:
                return {"error": f"The result has more than {MAX_RESULT >> 20} MiB."}
            return {"result": (folder / "result").read_bytes()}
    except OSError as error:
        return {"error": f"The function could not run kettle-exec: {error}"}


def take_secret():
    """Returns the key and removes it from the environment of this process, whose memory others then cannot read."""
    if KEY in os.environ:
        SECRET[:] = [os.environ[KEY]]
        libc = ctypes.CDLL(None)
        libc.getenv.restype = ctypes.c_void_p
        place = libc.getenv(KEY.encode())
        if place:
            ctypes.memset(place, 0, len(SECRET[0]))
        del os.environ[KEY]
        libc.prctl(4, 0, 0, 0, 0)  # PR_SET_DUMPABLE
    return SECRET[0] if SECRET else None


def run_job(kind, job, device, data):
    """The function of every device, on Modal."""
    limit = find_device(CONFIGURATION, device).get("timeout", DEFAULT_TIMEOUT) - END_BEFORE
    return execute(kind, job, data, modal.current_function_call_id(), modal_table(), HOME + "/bin/kettle-exec",
                   take_secret(), limit)


# ---- The calls to Modal ----

def modal_table():
    return modal.Dict.from_name(CONFIGURATION["app"] + "-jobs", create_if_missing=True)


class ModalCalls:
    """Everything that needs Modal itself: the calls, and how many of them wait."""

    def __init__(self, functions):
        self.functions = functions

    def spawn(self, device, kind, job, data):
        try:
            return self.functions[device].spawn(kind, job, device, data).object_id
        except modal.exception.Error as error:
            raise Refused(503, f"Modal did not take the call: {error}") from None

    def get(self, call):
        """The result of execute; None: it has not ended; {}: Modal does not know the call, or no longer."""
        errors = modal.exception
        try:
            return modal.FunctionCall.from_id(call).get(timeout=0)
        except (errors.OutputExpiredError, errors.NotFoundError):
            return {}
        except errors.FunctionTimeoutError:
            return {"error": "The function exceeded its timeout."}
        except errors.InputCancellation:
            return {"error": "The call was cancelled."}
        except (errors.ServiceError, errors.ConnectionError, errors.InternalError, errors.ResourceExhaustedError,
                errors.AuthError) as error:
            raise Refused(503, f"Modal did not say what became of the call: {error}") from None
        except (TimeoutError, errors.TimeoutError):
            return None
        except Exception as error:  # an error of the function itself
            return {"error": f"The function failed: {type(error).__name__}: {error}"[:MAX_COMPLAINT]}

    def cancel(self, call):
        try:
            modal.FunctionCall.from_id(call).cancel()
        except modal.exception.NotFoundError:
            raise Refused(404, "There is no such call.") from None
        except modal.exception.Error as error:
            raise Refused(503, f"Modal did not cancel the call: {error}") from None

    def queue(self, device):
        """{"waiting", "running"}; None: Modal does not say."""
        try:
            stats = self.functions[device].get_current_stats()
        except modal.exception.Error:
            return None
        return {"waiting": stats.backlog, "running": stats.num_running_inputs}


# ---- The application ----

def find_device(configuration, name):
    device = next((one for one in configuration["devices"] if one["name"] == name), None)
    if device is None:
        names = ", ".join(one["name"] for one in configuration["devices"])
        raise Refused(404, f"modal_app.py has no device {name!r}; it has: {names}"[:MAX_COMPLAINT])
    return device


def read_body(environ, most):
    length = environ.get("CONTENT_LENGTH") or ""
    if not (length.isascii() and length.isdigit() and len(length) < 20):
        raise Refused(411, "The request has no Content-Length.")
    if int(length) > most:
        raise Refused(413, f"The body has more than {most} bytes.")
    body = environ["wsgi.input"].read(int(length))
    if len(body) != int(length):
        raise Refused(400, "The body breaks off.")
    return body


class Application:
    """The WSGI application, over an object with `spawn`, `get`, `cancel` and `queue` like ModalCalls, and a table with
    `put`, `get` and `pop` like a modal.Dict."""

    def __init__(self, configuration, calls, table):
        self.configuration, self.calls, self.table = configuration, calls, table
        self.threads = concurrent.futures.ThreadPoolExecutor(POLL_THREADS)

    def __call__(self, environ, start_response):
        try:
            status, answer = self.route(environ)
        except Refused as refused:
            status, answer = refused.status, refused.answer
        kind = "application/octet-stream" if isinstance(answer, bytes) else "application/json"
        body = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        start_response(f"{status} {STATUS[status]}", [("Content-Type", kind), ("Content-Length", str(len(body))),
                                                      ("Cache-Control", "no-store")])
        return [body]

    def route(self, environ):
        _, _, path = environ.get("PATH_INFO", "").partition("/")
        verb, _, rest = path.partition("/")
        method, run = {"submit": ("POST", self.submit), "doctor": ("POST", self.doctor), "poll": ("POST", self.poll),
                       "result": ("GET", self.result), "find": ("POST", self.find), "cancel": ("POST", self.cancel),
                       "health": ("GET", self.health)}.get(verb, (None, None))
        if not run:
            raise Refused(404, "There is no such path.")
        if environ["REQUEST_METHOD"] != method:
            raise Refused(405, f"/{verb} takes {method}.")
        return run(environ, rest)

    def submit(self, environ, device):
        """POST /submit/DEVICE with the header Idempotency-Key (the job's name) and the sealed plan."""
        find_device(self.configuration, device)
        job, body = environ.get("HTTP_IDEMPOTENCY_KEY", ""), read_body(environ, MAX_PLAN)
        if not KEY_FORM.fullmatch(job):
            raise Refused(400, "The header Idempotency-Key must be 1 to 200 letters, digits and . _ -")
        if not body.startswith(MAGIC):
            raise Refused(400, "The body is no sealed plan.")
        return 200, {"id": self.call_of(job, device, body), "interface": INTERFACE}

    def find(self, _environ, job):
        """POST /find/JOB: the job's call. A job without a call can no longer run, even if a submission comes late."""
        if not KEY_FORM.fullmatch(job):
            raise Refused(400, "The name of a job is 1 to 200 letters, digits and . _ -")
        claimed = self.table.get("claim:" + job)
        # If a request died before it could record its call, the call records itself when it begins.
        call = self.table.get("call:" + job) or self.table.get("run:" + job)
        if not call and claimed is not None and time.time() - claimed < CLAIM_LIFE:
            raise Refused(503, "A request is about to submit this job.")
        if not call and not self.table.put("run:" + job, VOID, skip_if_exists=True):
            call = self.table.get("run:" + job)
        if not call or call == VOID:
            raise Refused(404, "There is no such job.", state="unknown")
        return 200, {"id": call, "interface": INTERFACE}

    def call_of(self, job, device, body):
        """The job's call, which is spawned once, even if requests are repeated or come at the same time."""
        give_up = time.monotonic() + CLAIM_WAIT
        while time.monotonic() < give_up:
            call = self.table.get("call:" + job)
            if call:
                return call
            if self.table.put("claim:" + job, time.time(), skip_if_exists=True):
                return self.spawn(job, device, body)
            # The claim of a dead request is removed. If two requests do this at once, "run:" lets only one of the two calls
            # run.
            claimed = self.table.get("claim:" + job)
            if claimed is not None and time.time() - claimed > CLAIM_LIFE:
                self.table.pop("claim:" + job, None)
            time.sleep(0.05)
        raise Refused(503, "Another request is about to submit this job, and has not ended.")

    def spawn(self, job, device, body):
        try:
            call = self.calls.spawn(device, JOB, job, body)
        except Refused:
            self.table.pop("claim:" + job, None)
            raise
        self.table.put("call:" + job, call)
        return call

    def doctor(self, _environ, device):
        """POST /doctor/DEVICE: a call whose result is the report of `kettle-exec --doctor --json` there."""
        find_device(self.configuration, device)
        return 200, {"id": self.calls.spawn(device, DOCTOR, "", b""), "interface": INTERFACE}

    def look(self, call):
        """The call's state and answer, and the call that runs its job."""
        if not CALL_FORM.fullmatch(call):
            return "unknown", {}, call
        answer = self.calls.get(call)
        if answer and answer.get("superseded"):
            call = answer["superseded"]
            answer = self.calls.get(call)
        if answer is None:
            return ("running" if self.table.get("started:" + call) else "starting"), {}, call
        return "done" if "result" in answer else "failed" if "error" in answer else "unknown", answer, call

    def state(self, call):
        """The call's state; "later": Modal does not tell it now, which must not fail the other calls of a poll."""
        try:
            return self.look(call)[0]
        except Refused:
            return "later"

    def poll(self, environ, _rest):
        """POST /poll with {"ids": [CALL]}: {"calls": {CALL: state}}."""
        try:
            ids = json.loads(read_body(environ, MAX_POLL))["ids"]
        except (ValueError, KeyError, TypeError, RecursionError):
            ids = None
        if not isinstance(ids, list) or len(ids) > MAX_POLLED or not all(isinstance(one, str) for one in ids):
            raise Refused(400, f"The body must be {{\"ids\": [at most {MAX_POLLED} calls]}}.")
        return 200, {"calls": dict(zip(ids, self.threads.map(self.state, ids)))}

    def result(self, _environ, call):
        state, answer, _ = self.look(call)
        if state in ("starting", "running"):
            return 202, {"state": state}
        if state == "failed":
            raise Refused(410, answer["error"], state="failed")
        if state == "unknown":
            raise Refused(404, "There is no such call, or its result has expired.", state="unknown")
        return 200, answer["result"]

    def cancel(self, _environ, call):
        state, _, call = self.look(call)
        if state == "unknown":
            raise Refused(404, "There is no such call, or its result has expired.", state="unknown")
        if state in ("starting", "running"):
            self.calls.cancel(call)
        return 200, {"id": call}

    def health(self, _environ, _rest):
        archive = self.configuration["archive"] or {}
        devices = [{"name": one["name"], "gpu": one.get("gpu"), "timeout": one.get("timeout", DEFAULT_TIMEOUT),
                    "queue": self.calls.queue(one["name"])} for one in self.configuration["devices"]]
        return 200, {"interface": INTERFACE, "version": archive.get("version"), "sha256": archive.get("sha256"),
                     "modal": modal and modal.__version__, "devices": devices}


# ---- The app ----

def check_archive(archive):
    """The path of the archive beside this file, after checking that it is the configured one."""
    if not archive:
        raise SystemExit("modal_app.py has no configuration: `kettle runner init` writes one")
    path = pathlib.Path(__file__).with_name(archive["file"])
    if modal.is_local():
        found = hashlib.sha256(path.read_bytes()).hexdigest()
        if found != archive["sha256"]:
            raise SystemExit(f"{path} has the SHA-256 {found}, and modal_app.py expects {archive['sha256']}")
    return path


def device_image(device, archive):
    """The device's own base and packages, and kettle-exec. Checks its digest again when unpacking it."""
    if device.get("image"):
        image = modal.Image.from_registry(device["image"], add_python=device.get("python"))
    else:
        image = modal.Image.debian_slim(device.get("python"))
    image = image.apt_install("xz-utils", *device.get("apt", []))
    if device.get("packages"):
        image = image.pip_install(*device["packages"])
    path = "/opt/kettle-exec.tar.xz"
    return image.add_local_file(check_archive(archive), path, copy=True).run_commands(
        f"echo '{archive['sha256']}  {path}' | sha256sum -c -",
        f"mkdir -p {HOME} && tar -xJf {path} -C {HOME} --strip-components=1 && {HOME}/bin/kettle-exec --version")


def define_device(app, configuration, device):
    if not NAME_FORM.fullmatch(device["name"]):
        raise SystemExit(f"the device name {device['name']!r} must be 1 to 60 letters, digits, _ and -")
    if not MIN_TIMEOUT <= device.get("timeout", DEFAULT_TIMEOUT) <= MAX_TIMEOUT:
        raise SystemExit(f"the timeout of the device {device['name']} must be {MIN_TIMEOUT} to {MAX_TIMEOUT} s")
    secret = modal.Secret.from_name(configuration["secret"], required_keys=[KEY])
    return app.function(
        name="device-" + device["name"], image=device_image(device, configuration["archive"]), gpu=device.get("gpu"),
        timeout=device.get("timeout", DEFAULT_TIMEOUT), secrets=[secret], cpu=device.get("cpu"),
        memory=device.get("memory"), max_containers=device.get("max_containers"),
        scaledown_window=device.get("scaledown_window"), single_use_containers=device.get("single_use", True))(run_job)


if modal:
    app = modal.App(CONFIGURATION["app"])
    functions = {one["name"]: define_device(app, CONFIGURATION, one) for one in CONFIGURATION["devices"]}

    @app.function(image=modal.Image.debian_slim(), scaledown_window=300)
    @modal.concurrent(max_inputs=100)
    @modal.wsgi_app(requires_proxy_auth=True)
    def web():
        return Application(CONFIGURATION, ModalCalls(functions), modal_table())
