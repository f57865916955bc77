# SPDX-License-Identifier: MIT
"""The calls of the command line popcorn-cli (github.com/gpu-mode/popcorn-cli), as it sends them and reads their answers, in its
versions 886932de (June 2026) and 065a688b (September 2026). What ends it with an error is Failed here, what crashes it Panicked, and
what it prints is returned. One thing is stricter than it: it follows redirections, and there must be none."""
import base64
import binascii
import decimal
import http
import http.client
import io
import json
import random
import time
import urllib.parse
import zipfile

JUNE, SEPTEMBER = "886932de", "065a688b"
POLLING_S = 3600
PHRASES = {413: "Payload Too Large", 422: "Unprocessable Entity"}  # where Python's words are others
REPORTS, DETAILS = ".ncu-rep", ("ncu-details.txt", "ncu-details.csv")


class Failed(Exception):
    """It prints `Application error: ` and this, and exits with 1."""


class Panicked(Exception):
    """It crashes."""


# ---- values: one of another type is as if it were not there ----

def member(value, key):
    return value.get(key) if type(value) is dict else None


def text(value):
    return value if type(value) is str else None


def integer(value):
    return value if type(value) is int and -2**63 <= value < 2**63 else None


def flag(value):
    return value if type(value) is bool else None


def array(value):
    return value if type(value) is list else []


def number(value):
    """A score or a time: a number, or a text that is one."""
    if type(value) in (int, float):
        return float(value)
    try:
        return float(value) if type(value) is str and value == value.strip() and "_" not in value else None
    except ValueError:
        return None


def count(value):
    if type(value) is str and value.isascii() and value.isdigit():
        value = int(value)
    return integer(value) or 0


def words(value):
    """Of a member of a result: its text, also of a number."""
    return str(value).lower() if type(value) is bool else str(value) if type(value) in (str, int, float) else None


def shown(value):
    """A number in full, without an exponent."""
    plain = format(decimal.Decimal(repr(value)), "f")
    return plain[:-2] if plain.endswith(".0") else plain


def cut(value, most):
    """Shortened at a byte, whatever character that is in."""
    data = value.encode()
    if len(data) <= most:
        return value
    try:
        return data[:most - 3].decode() + "..."
    except UnicodeDecodeError:
        raise Panicked(f"byte index {most - 3} is not a char boundary: {value!r}") from None


def named(status):
    return f"{status} {PHRASES.get(status) or http.HTTPStatus(status).phrase}"


def duration(ns, error=None):
    scale, unit = (1e6, "ms") if ns > 2e6 else (1e3, "µs") if ns > 2e3 else (1, "ns")
    value, error = ns / scale, error / scale if error else None
    digits, more = (2, 3) if value < 10 else (1, 2) if value < 100 else (0, 1)
    if value < 1:
        return f"{shown(value)}{f' ± {shown(error)}' if error else ''} {unit}"
    return f"{value:.{digits}f}{f' ± {error:.{more}f}' if error else ''} {unit}"


class Client:
    told = None  # called with each answer: told(METHOD, PATH, STATUS, CONTENT_TYPE, BODY); of a stream that begins BODY is None

    def __init__(self, url, version=SEPTEMBER, cli_id=None, admin_token=None):
        """url: what POPCORN_API_URL would have."""
        self.url, self.version, self.cli_id, self.admin_token = url, version, cli_id, admin_token
        self.log = []  # what it prints to stderr while it waits

    # ---- requests ----

    def open(self, method, path, limit, headers=(), body=None):
        """Sends a request: (connection, answer)."""
        parts = urllib.parse.urlsplit(self.url + path)
        connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=limit)
        # No Accept-Encoding, no User-Agent; a path is sent as it is.
        connection.putrequest(method, parts.path + ("?" + parts.query if parts.query else ""), skip_accept_encoding=True)
        if self.admin_token is not None:
            connection.putheader("authorization", f"Bearer {self.admin_token}")
        elif self.cli_id is not None:
            connection.putheader("x-popcorn-cli-id", self.cli_id)
        connection.putheader("accept", "*/*")
        for name, value in headers:
            connection.putheader(name, value)
        if body is not None:
            connection.putheader("content-length", str(len(body)))
        try:
            connection.endheaders(body)
            answer = connection.getresponse()
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            raise Failed(f"error sending request for url ({self.url + path}): {error!r}") from None
        if 300 <= answer.status < 400:
            connection.close()
            raise Failed(f"{method} {path} is redirected: {answer.status}")
        return connection, answer

    def exchange(self, method, path, limit, headers=(), body=None):
        """A whole exchange, within `limit` seconds: (status, body)."""
        begin = time.monotonic()
        connection, answer = self.open(method, path, limit, headers, body)
        try:
            found = answer.status, answer.read()
            if self.told:
                self.told(method, path, found[0], answer.getheader("content-type"), found[1])
        except (OSError, http.client.HTTPException) as error:
            raise Failed(f"error decoding response body: {error!r}") from None
        finally:
            connection.close()
        if time.monotonic() - begin > limit:
            raise Failed("operation timed out")
        return found

    @staticmethod
    def decode(body):
        """JSON; what a reader in another language would not take is refused: NaN, a lone surrogate, UTF-8 that is none."""
        def refuse(word):
            raise ValueError(word)
        try:
            value = json.loads(body.decode(), parse_constant=refuse)
            json.dumps(value, ensure_ascii=False).encode()
            return value
        except ValueError as error:
            raise Failed(f"error decoding response body: {error}") from None

    def refuse(self, status, body, raw):
        """Fails for an answer that is no success. raw: by its body, as it came."""
        shown_body = body.decode(errors="replace")
        try:
            detail = text(member(json.loads(shown_body), "detail"))
        except ValueError:
            detail = None
        raise Failed(f"Server returned status {named(status)}: {shown_body if raw or detail is None else detail}")

    def call(self, method, path, limit, raw=False, value=None, headers=()):
        """The value of a call. value: the body as JSON."""
        body = None if value is None else json.dumps(value, separators=(",", ":")).encode()
        if value is not None:
            headers = [("content-type", "application/json"), *headers]
        status, answer = self.exchange(method, path, limit, headers, body)
        if not 200 <= status < 300:
            self.refuse(status, answer, raw)
        return self.decode(answer)

    @staticmethod
    def form(name, content, fields=()):
        """A form with the part `file`, which has no Content-Type: (headers, body)."""
        boundary = "-".join(f"{random.getrandbits(64):016x}" for _ in range(4))
        for character, escaped in (("\\", "\\\\"), ('"', '\\"'), ("\r", "\\\r"), ("\n", "\\\n")):
            name = name.replace(character, escaped)
        body = f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n\r\n'.encode() + content
        for key, field in fields:
            body += f'\r\n--{boundary}\r\nContent-Disposition: form-data; name="{key}"\r\n\r\n{field}'.encode()
        return [("content-type", f"multipart/form-data; boundary={boundary}")], body + f"\r\n--{boundary}--\r\n".encode()

    # ---- logins ----

    def register(self, provider="discord", again=False):
        """register and reregister: keeps the new identifier at once. Returns the state that goes to the provider."""
        before, self.cli_id = self.cli_id, None
        try:
            status, body = self.exchange("GET", f"/auth/init?provider={provider}", 180)
            if not 200 <= status < 300:
                raise Failed(f"Failed to initialize auth ({named(status)}): {body.decode(errors='replace')}")
            state = text(member(self.decode(body), "state"))
            if state is None:
                raise Failed("error decoding response body: no `state`")
        except Failed:
            self.cli_id = before
            raise
        self.cli_id = state
        said = json.dumps({"cli_id": state, "is_reset": again}, separators=(",", ":"))
        return base64.urlsafe_b64encode(said.encode()).decode().rstrip("=")

    # ---- boards ----

    def leaderboards(self):
        """The menu: rows of (name, description)."""
        rows = self.call("GET", "/leaderboards", 30, raw=True)
        if type(rows) is not list:
            raise Failed("error decoding response body: invalid type, expected a sequence")
        for row in rows:
            if type(member(row, "task")) is not dict or text(member(row, "name")) is None or text(member(row, "description")) is None:
                raise Failed("Invalid JSON structure")
        return [(row["name"], row["description"]) for row in rows]

    def gpus(self, board):
        names = self.call("GET", f"/gpus/{board}", 120, raw=True)
        if type(names) is not list or any(type(name) is not str for name in names):
            raise Failed("error decoding response body: invalid type, expected a sequence of strings")
        return names

    def join(self, code):
        found = self.call("POST", "/user/join", 30, value={"code": code})
        return f"Joined leaderboard(s): {', '.join(one for one in array(member(found, 'leaderboards')) if type(one) is str)}"

    # ---- one's submissions ----

    def list(self, board, limit=50):
        rows = self.call("GET", f"/user/submissions?leaderboard={board}&limit={limit}", 30)
        if type(rows) is not list:
            raise Failed("error decoding response body: invalid type, expected a sequence")
        if not rows:
            return "No submissions found."
        table = ["{:<8} {:<20} {:<20} {:<20} {:<12} {:<10} {:>10}".format("ID", "Leaderboard", "File", "Time", "GPU(s)", "Status", "Score"),
                 "-" * 105]
        for row in rows:
            runs = array(member(row, "runs"))
            scores = [score for score in (number(member(run, "score")) for run in runs) if score is not None]
            gpus = ",".join(text(member(run, "gpu_type")) or "" for run in runs) if runs else "-"
            table.append("{:<8} {:<20} {:<20} {:<20} {:<12} {:<10} {:>10}".format(
                integer(member(row, "id")) or 0, cut(text(member(row, "leaderboard_name")) or "", 19),
                cut(text(member(row, "file_name")) or "", 19), cut(text(member(row, "submission_time")) or "", 19), cut(gpus, 11),
                "done" if flag(member(row, "done")) else "pending", shown(min(scores)) if scores else "-"))
        return "\n".join(table)

    def look(self, submission):
        """A submission, with every member of the type that it must have."""
        found = self.call("GET", f"/user/submissions/{submission}", 30)
        job = member(found, "job")
        return {
            **{key: integer(member(found, key)) or 0 for key in ("id", "leaderboard_id")},
            **{key: text(member(found, key)) or "" for key in ("leaderboard_name", "file_name", "user_id", "submission_time", "code")},
            "done": flag(member(found, "done")) or False,
            "job": None if job is None else {"status": text(member(job, "status")), "error": text(member(job, "error"))},
            "queue": self.queue(member(found, "runner_queue")),
            "runs": [{
                **{key: text(member(run, key)) for key in ("start_time", "end_time")},
                **{key: text(member(run, key)) or "" for key in ("mode", "runner")},
                **{key: flag(member(run, key)) or False for key in ("secret", "passed")},
                "score": number(member(run, "score")), "result": member(run, "result"), "diagnostics": member(run, "diagnostics")}
                for run in array(member(found, "runs"))]}

    @staticmethod
    def queue(value):
        queued = integer(member(value, "queued_jobs"))
        if queued is None:
            return None
        return (f"{text(member(value, 'runner')) or 'Runner'} {text(member(value, 'gpu')) or 'selected GPU'} queue: "
                f"{queued} queued {'job' if queued == 1 else 'jobs'}")

    def show(self, submission, no_code=False):
        found = self.look(submission)
        lines = [f"Submission #{found['id']}", "=" * 60, f"Leaderboard:    {found['leaderboard_name']} (id: {found['leaderboard_id']})",
                 f"File:           {found['file_name']}", f"User ID:        {found['user_id']}",
                 f"Submitted:      {found['submission_time']}", f"Status:         {'done' if found['done'] else 'pending'}"]
        lines += ["\nRuns:"] * bool(found["runs"])
        for run in found["runs"]:
            start, end = run["start_time"], run["end_time"]
            times = f" ({start} - {end})" if start and end else f" (started: {start})" if start else ""
            score = "-" if run["score"] is None else shown(run["score"])
            lines.append(f"  - {run['mode']} on {run['runner']}: {'passed' if run['passed'] else 'failed'} (score: {score})"
                         f"{' [secret]' * run['secret']}{times}")
            if self.version == SEPTEMBER:
                lines += filter(None, [self.failure(run)])
        return "\n".join(lines + ([] if no_code else ["\nCode:", "-" * 60, found["code"]]))

    def delete(self, submission):
        """Looks at it first, as for its question."""
        found = self.look(submission)
        result = self.call("DELETE", f"/user/submissions/{submission}", 30)
        done = f"Submission {submission} deleted successfully." if member(result, "status") == "ok" else "Submission deleted."
        return "\n".join([f"Submission #{found['id']}", f"Leaderboard: {found['leaderboard_name']}", f"File:        {found['file_name']}",
                          *found["code"].splitlines()[:20], done])

    # ---- submitting, and polling until it has ended ----

    def submit(self, name, content, board, gpu, mode, wait):
        """wait(LOOK): calls LOOK until it returns something, and returns that; the client does it every 5 s, for an hour at most."""
        headers, body = self.form(name, content)
        status, answer = self.exchange("POST", f"/submission/{board.lower()}/{gpu}/{mode.lower()}", 60, headers, body)
        if not 200 <= status < 300:
            self.refuse(status, answer, False)
        accepted = self.decode(answer)
        submission = integer(member(member(accepted, "details"), "id"))
        if submission is None:
            raise Failed("Server did not return a submission id")
        queue = self.queue(member(accepted, "runner_queue"))
        self.log.append(f"Submission {submission} accepted. {queue + '. ' if queue else ''}Waiting for results...")
        return self.printed(wait(lambda: self.verdict(submission, gpu, mode.lower())))

    @staticmethod
    def printed(result):
        result = result.strip()
        if len(result) >= 2 and result.startswith("[") and result.endswith("]"):
            result = result[1:-1]
        return result.replace("\\n", "\n")

    def verdict(self, submission, gpu, mode):
        """One poll: the result; None: it has not ended."""
        found = self.look(submission)
        job = found["job"] or {}
        status = job.get("status") or ("done" if found["done"] else "pending")
        self.log.append(f"Submission {submission} status: {status}{' - ' + found['queue'] if found['queue'] else ''}")
        newer = self.version == SEPTEMBER
        if status in ("failed", "timed_out", "hacked"):
            diagnostics = self.diagnostics(found, mode) if newer else None
            error = job["error"] if job.get("error") is not None else "No error details were provided"
            raise Failed(f"Submission {submission} {status}: {error}" + (f"\n\n{diagnostics}" if diagnostics else ""))
        if not found["done"]:
            return None
        if newer and mode == "leaderboard":
            self.qualify(found, gpu)
        summary = self.summary(found)
        if not newer:
            return summary
        rows = "\n\n".join(filter(None, (self.rows(run) for run in self.public(found, mode)))) if mode != "leaderboard" else None
        report = "\n\n".join(filter(None, (rows, self.diagnostics(found, mode), summary)))
        if mode != "leaderboard" and any(not run["passed"] for run in self.public(found, mode)):
            raise Failed(f"Submission {submission} {mode} failed\n\n{report}")
        return report

    @staticmethod
    def public(found, mode):
        return [run for run in found["runs"] if not run["secret"] and run["mode"].lower() == mode.lower()]

    @staticmethod
    def qualify(found, gpu):
        """Fails unless the ranked submission is one that counts."""
        here = [run for run in found["runs"] if run["runner"].lower() == gpu.lower()]
        ranked = [run for run in here if run["mode"] == "leaderboard" and run["passed"]]
        scored = any(not run["secret"] and run["score"] is not None for run in ranked)
        spoiled = any(run["secret"] and not run["passed"] for run in here)
        if scored and any(run["secret"] for run in ranked) and not spoiled:
            return
        error = (found["job"] or {}).get("error")
        if error:
            raise Failed(f"Submission {found['id']}: {error}")
        why = "failed secret validation" if spoiled else "did not pass secret leaderboard validation" if scored \
            else "completed without a leaderboard score"
        raise Failed(f"Submission {found['id']} {why} on {gpu}; it will not appear on the leaderboard")

    @staticmethod
    def summary(found):
        scores = [f"Geomean score{' (secret)' if run['secret'] else ' (public)'} on {run['runner']}: {shown(run['score'])} s"
                  for run in found["runs"] if run["mode"] == "leaderboard" and run["score"] is not None]
        kept = ("mode", "secret", "runner", "score", "passed", "start_time", "end_time")
        document = {"submission_id": found["id"], "leaderboard": found["leaderboard_name"], "file_name": found["file_name"],
                    "done": found["done"], "job": found["job"], "runs": [{key: run[key] for key in kept} for run in found["runs"]]}
        return "\n".join(scores) + "\n\n" * bool(scores) + json.dumps(document, indent=2, ensure_ascii=False)

    # ---- what runs say ----

    @staticmethod
    def rows(run):
        """The tests or benchmarks of a run, or None."""
        result, rows = run["result"], []
        get = lambda key: words(member(result, key))  # noqa: E731
        if run["mode"].lower() == "test":
            for i in range(count(member(result, "test-count"))):
                status, spec = get(f"test.{i}.status"), get(f"test.{i}.spec") or "<unknown test>"
                if status is not None:
                    detail = get(f"test.{i}.{'message' if status == 'pass' else 'error'}")
                    mark = {"pass": f"✅ {spec}", "fail": f"❌ {spec}"}.get(status, f"? {spec} ({status})")
                    rows.append(mark + ("\n> " + detail.replace("\\n", "\n") if detail else ""))
        elif run["mode"].lower() == "benchmark":
            for i in range(count(member(result, "benchmark-count"))):
                spec = get(f"benchmark.{i}.spec") or "<unknown benchmark>"
                mean, error, best, worst = (number(member(result, f"benchmark.{i}.{key}")) for key in ("mean", "err", "best", "worst"))
                if get(f"benchmark.{i}.status") == "fail":
                    rows.append(f"❌ {spec} failed testing:\n{get(f'benchmark.{i}.error') or 'No error information available'}")
                else:
                    rows.append(spec + (f"\n ⏱ {duration(mean, error)}" if mean is not None else "") +
                                (f"\n ⚡ {duration(best)} 🐌 {duration(worst)}" if best is not None and worst is not None else ""))
        return "\n\n".join(rows) or None

    @staticmethod
    def said(run):
        """What a failed run printed, or None."""
        diagnostics = run["diagnostics"]
        if diagnostics is None:
            return None
        get = lambda value, key: (text(member(value, key)) or "").strip().replace("\\n", "\n")  # noqa: E731
        compilation, exit_code, parts = member(diagnostics, "compilation"), integer(member(diagnostics, "exit_code")), []
        if flag(member(compilation, "success")) is False:
            which = "stderr" if get(compilation, "stderr") else "stdout"
            parts += [f"Compiler {which}:\n{get(compilation, which)}"] * bool(get(compilation, which))
        code = "" if exit_code is None else f" (exit code {exit_code})"
        which = "stderr" if get(diagnostics, "stderr") else "stdout"
        if get(diagnostics, which):
            parts.append(f"Runtime {which}{code}:\n{get(diagnostics, which)}")
        elif exit_code:
            parts.append(f"Runtime exited with code {exit_code}.")
        return "\n\n".join(parts) or None

    def diagnostics(self, found, mode):
        runs = [run for run in found["runs"] if not run["secret"]] if mode == "leaderboard" else self.public(found, mode)
        parts = [f"Failure diagnostics ({run['mode']} on {run['runner']}):\n{self.said(run)}" for run in runs
                 if not run["passed"] and self.said(run)]
        return "\n\n".join(parts) or None

    def failure(self, run):
        if run["secret"] or run["passed"]:
            return None
        return "\n\n".join(filter(None, (self.rows(run), self.said(run)))) or None

    # ---- event streams ----

    def profile(self, name, content, board, gpu, **options):
        """--mode profile without the menu: of the later version by its own route, with options; else as the menu does."""
        if self.version == JUNE:
            return self.stream(name, content, board, gpu, "profile")
        result = self.events(f"/profile/{board.lower()}/{gpu}", *self.form(name, content, options.items()))
        results = array(member(result, "results"))
        if not results:
            raise Failed("Server returned no profiling results")
        return self.printed("\n\n".join(self.profiled(one, board, gpu) for one in results))

    def stream(self, name, content, board, gpu, mode):
        """What the menu does with a profile, and older clients did with every mode."""
        result = self.events(f"/{board.lower()}/{gpu}/{mode.lower()}", *self.form(name, content))
        for index, one in enumerate(array(member(result, "results")), 1):
            for key, value in (member(one, "runs") or {}).items():
                if mode == "profile" and key.startswith("profile"):
                    self.traced(value)
                elif key == mode:
                    for kind in ("stdout", "stderr"):
                        said = text(member(member(value, "run"), kind))
                        self.log += [f"{kind.upper()} (Run {index}):\n{said}"] * bool(said)
        reports = member(result, "reports")
        return self.printed(json.dumps(result, indent=2) if reports is None else
                            json.dumps(reports, ensure_ascii=False, separators=(",", ":")))

    def events(self, path, headers, body):
        """The value of the event `result`."""
        connection, answer = self.open("POST", path, 3600, headers, body)
        try:
            refused = None if 200 <= answer.status < 300 else answer.read()
            if self.told:
                self.told("POST", path, answer.status, answer.getheader("content-type"), refused)
            if refused is not None:
                self.refuse(answer.status, refused, False)
            if not (answer.getheader("content-type") or "").startswith("text/event-stream"):
                raise Failed("Invalid non-streaming response structure")
            return self.follow(answer)
        except (OSError, http.client.HTTPException) as error:
            raise Failed(f"error decoding response body: {error!r}") from None
        finally:
            connection.close()

    def follow(self, answer):
        # It decodes each piece of the network by itself: here every byte is one.
        buffer = ""
        while piece := answer.read1(65536):
            buffer += piece.decode("ascii", errors="replace")
            while "\n\n" in buffer:
                block, buffer = buffer.split("\n\n", 1)
                found = {}
                for line in block.split("\n"):
                    key, colon, value = line.partition(":")
                    if colon and key in ("event", "data"):
                        found[key] = value.strip()
                if len(found) == 2 and (result := self.event(found["event"], found["data"])) is not None:
                    return result
        raise Failed("Stream ended unexpectedly without a final result or error event.")

    def event(self, kind, data):
        if kind == "status":
            try:
                message = text(member(json.loads(data), "message"))
            except ValueError:
                message = None
            self.log.append(data if message is None else message)
        elif kind == "result":
            return self.decode(data.encode())
        elif kind == "error":
            value = self.decode(data.encode())
            status, raw = integer(member(value, "status_code")), text(member(value, "raw_error"))
            raise Failed(f"Server processing error: {text(member(value, 'detail')) or 'Unknown server error'}" +
                         (f" (Status Code: {status})" if status is not None else "") + (f" | Raw Error: {raw}" if raw is not None else ""))
        else:
            self.log.append(f"Ignoring unknown SSE event: {kind}")
        return None

    def traced(self, run):
        """A profile by the older route: its reports and its trace, each in base64."""
        profile, result = member(run, "profile"), member(member(run, "run"), "result")
        if profile is None:
            return
        self.log.append(f"=== Profiler: {text(member(profile, 'profiler')) or 'Unknown'} ===")
        for kind in ("stdout", "stderr"):
            said = text(member(member(run, "run"), kind))
            self.log += [f"{kind.upper()}:\n{said}"] * bool(said)
        for i in range(integer(member(result, "benchmark-count")) or 0):
            report = text(member(result, f"benchmark.{i}.report"))
            self.log.append(f"Benchmark: {text(member(result, f'benchmark.{i}.spec')) or 'unknown'}")
            try:
                self.log += [base64.b64decode(report, validate=True).decode()] * (report is not None)
            except (binascii.Error, UnicodeDecodeError) as error:
                self.log.append(f"Failed to decode profile report: {error}")
        trace, url = text(member(profile, "trace")), text(member(profile, "download_url"))
        try:
            self.log += [f"Saved profile trace: {len(base64.b64decode(trace, validate=True))} bytes"] * bool(trace)
        except binascii.Error as error:
            self.log.append(f"Failed to decode trace data: {error}")
        self.log += [f"Download full profile: {url}"] * bool(url)

    @staticmethod
    def profiled(result, board, gpu):
        """A profile by its own route: its lines, or Failed."""
        runs = member(result, "runs")
        if member(result, "success") is not True:
            raise Failed(f"Profiling failed: {json.dumps(member(result, 'error'))}")
        if type(runs) is not dict or not runs:
            raise Failed("Server returned no profile runs")
        lines, failures = [f"Nsight Compute profile: {board} on {gpu}"], []
        for key, value in runs.items():
            run, trace = member(value, "run"), text(member(member(value, "profile"), "trace"))
            for part, what, none in ((member(value, "compilation"), "Compilation", "compiler"), (run, "Execution", "execution")):
                if flag(member(part, "success")) is False:
                    failures.append(f"{key}: {what} failed:\n{text(member(part, 'stderr')) or f'No {none} error was reported'}")
                    break
            if trace is None:
                failures.append(f"{key}: No NCU report was produced")
                continue
            try:
                archive = zipfile.ZipFile(io.BytesIO(base64.b64decode(trace, validate=True)))
                names = [name for name in archive.namelist() if name.endswith((REPORTS, *DETAILS)) and archive.read(name) is not None]
            except (binascii.Error, zipfile.BadZipFile) as error:
                raise Failed(f"Server returned an invalid profile archive: {error}") from None
            if not any(name.endswith(REPORTS) for name in names):
                failures.append(f"{key}: NCU archive contains no .ncu-rep report")
            lines.append(f"{key}: {text(member(member(run, 'result'), 'benchmark.0.spec')) or 'unknown benchmark'}")
            lines += [f"  {name.rsplit('/', 1)[-1]}" for name in names]
        if failures:
            raise Failed("\n".join(lines) + "\n\n" + "\n".join(failures))
        return "\n".join(lines)

    # ---- for admins: the value of each answer, and what is printed where it is no JSON ----

    def admin(self, what, *names, **body):
        """what: of CALLS; names: for its path; body: its members."""
        method, path, limit, empty = CALLS[what]
        path = path.format(*names)
        return self.call(method, path, limit, value=body or None, headers=[("content-length", "0")] * empty)

    def admin_invites(self, board):
        invites = array(member(self.admin("invites", board), "invites"))
        if not invites:
            return f"No invites for '{board}'"
        claimed = [text(member(one, "user_id")) is not None for one in invites]
        lines = [f"Invites for '{board}': {len(invites)} total, {sum(claimed)} claimed, {len(invites) - sum(claimed)} unclaimed"]
        for one in invites:
            user = text(member(one, "user_name")) or text(member(one, "user_id"))
            lines.append(f"{text(member(one, 'code')) or '???'} {'claimed' if user else 'unclaimed'} {user or '-'} "
                         f"{text(member(one, 'created_at')) or '-'}")
        return "\n".join(lines)


# Method, path, seconds, and whether it says that it has no body.
CALLS = {
    "start": ("POST", "/admin/start", 30, True), "stop": ("POST", "/admin/stop", 30, True),
    "stats": ("GET", "/admin/stats", 30, False), "stats_of_day": ("GET", "/admin/stats?last_day_only=true", 30, False),
    "submission": ("GET", "/admin/submissions/{}", 30, False), "delete_submission": ("DELETE", "/admin/submissions/{}", 30, False),
    "create": ("POST", "/admin/leaderboards", 30, False),
    "delete": ("DELETE", "/admin/leaderboards/{}", 30, False),
    "delete_by_force": ("DELETE", "/admin/leaderboards/{}?force=true", 30, False),
    "update_problems": ("POST", "/admin/update-problems", 120, False), "new_invites": ("POST", "/admin/invites", 30, False),
    "invites": ("GET", "/admin/leaderboards/{}/invites", 30, False), "revoke_invite": ("DELETE", "/admin/invites/{}", 30, False),
}
