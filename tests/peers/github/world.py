# SPDX-License-Identifier: MIT
"""What there is on the fake GitHub: repositories, tokens, runs, artifacts; and what was done wrong."""
import collections
import datetime
import hashlib
import itertools
import secrets
import time
import weakref

import leaks

# Of the server; a repository may have its own of those above the line.
SETTINGS = {"queue_ms": 0, "run_ms": 0,  # how long a run waits for a machine that is free, and how long before its steps
            "machines": 8,  # runs of a repository at the same time; 0: all wait
            "answer_ms": 0,  # the delay of each answer
            "enterprise": False,  # a dispatch answers 204, and there is one version of REST
            "link_s": 60,  # how long the link to an artifact is valid
            "interrupt_ms": 7500, "terminate_ms": 2500,  # a cancelled step gets SIGINT, then SIGTERM, then SIGKILL
            # ----
            "spacing_s": 1.0,  # between two changes by one token
            "points": 900, "points_s": 60,  # of a token: a read costs 1, a change 5
            "concurrent": 100, "limit": 5000, "window_s": 3600}
MOST_KEPT = 50000


class Refusal(Exception):
    """An answer that is an error."""

    def __init__(self, status, message, headers=None, **more):
        super().__init__(message)
        self.status, self.headers = status, headers or {}
        self.body = {"message": message, "documentation_url": "https://docs.github.com/rest", "status": str(status), **more}


def stamp(when):
    """As GitHub writes a time: to the second."""
    return datetime.datetime.fromtimestamp(int(when), datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


class Token:
    def __init__(self, number, settings):
        self.number, self.repos, self.revoked = number, None, False
        self.limit, self.window = settings["limit"], settings["window_s"]
        self.used, self.reset = 0, 0.0
        self.changed = 0.0  # monotonic, of the last change
        self.until = 0.0  # monotonic: until when it must wait
        self.told = weakref.WeakSet()  # the connections by which it was told so
        self.spent = collections.deque()  # (time, points)

    def count(self, now):
        """Whether one more request is within the hourly limit."""
        if now >= self.reset:
            self.used, self.reset = 0, now + self.window
        self.used += 1
        return self.used <= self.limit

    def headers(self):
        return {"X-RateLimit-Limit": str(self.limit), "X-RateLimit-Remaining": str(max(0, self.limit - self.used)),
                "X-RateLimit-Used": str(min(self.used, self.limit)), "X-RateLimit-Reset": str(int(self.reset) + 1),
                "X-RateLimit-Resource": "core"}

    def wait(self, seconds):
        now = time.monotonic()
        if now >= self.until:
            self.told.clear()
        self.until = max(self.until, now + seconds)


class Repo:
    def __init__(self, world, name):
        self.world, self.name, self.id = world, name, world.new_id()
        self.folder, self.branch, self.secrets, self.env = None, "main", {}, {}
        self.settings, self.scripts, self.runs, self.number = {}, [], [], 0
        self.workflow_id, self.workflow_file = world.new_id(), "kettle.yml"
        self.released = 0  # how often

    def setting(self, name):
        return self.settings.get(name, self.world.settings[name])

    def next_script(self):
        """What is to happen to a new run."""
        if not self.scripts:
            return {}
        first = self.scripts[0]
        if first["times"] is not None:
            first["times"] -= 1
            if first["times"] == 0:
                self.scripts.pop(0)
        return first["do"]


class Run:
    """One run with its only job."""

    def __init__(self, repo, path, inputs, title, script):
        world = repo.world
        self.repo, self.path, self.inputs, self.title, self.script = repo, path, inputs, title, script
        self.id, self.job_id, self.suite_id = world.new_id(), world.new_id(), world.new_id()
        repo.number += 1
        self.number, self.created, self.updated, self.started = repo.number, time.time(), time.time(), None
        self.status, self.conclusion, self.completed = "queued", None, None
        self.artifacts, self.steps, self.log, self.labels, self.machine = [], [], [], [], None
        self.ready = self.cancelled = self.forced = self.deleted = False
        self.sha = hashlib.sha1(repo.name.encode()).hexdigest()

    def change(self, status, conclusion=None):
        self.status, self.conclusion, self.updated = status, conclusion, time.time()
        if status == "in_progress":
            self.started = self.updated
        if status == "completed":
            self.completed = self.updated


class Artifact:
    def __init__(self, world, run, name, data):
        self.run, self.name, self.data, self.id = run, name, data, world.new_id()
        self.created, self.expired = time.time(), False
        self.size, self.digest = len(data), "sha256:" + hashlib.sha256(data).hexdigest()


class World:
    def __init__(self, schema):
        self.schema, self.settings, self.machines = schema, dict(SETTINGS), None
        self.url = self.files = ""
        self.ids = itertools.count(16_000_000_000)  # above 32 bits, as GitHub's are
        self.repos, self.tokens, self.runs, self.artifacts = {}, {}, {}, {}
        self.links, self.faults, self.seeds = {}, [], leaks.Seeds()
        self.log, self.violations, self.numbers, self.open = [], [], itertools.count(1), 0
        self.add_token(secrets.token_hex(20))

    def new_id(self):
        return next(self.ids)

    def add_token(self, text):
        self.tokens[text] = Token(len(self.tokens), self.settings)
        return self.tokens[text]

    def violate(self, rule, text, request=None):
        if len(self.violations) < MOST_KEPT:
            self.violations.append({"rule": rule, "text": text, "request": request})

    def note(self, request, host):
        """A line of the log for a request."""
        note = {"n": next(self.numbers), "time": time.monotonic(), "method": request.method, "path": request.path,
                "query": dict(request.query), "host": host, "kind": "unknown", "repo": None, "token": None, "status": None,
                "headers": {name: value for name, value in request.headers.items() if name != "Authorization"}, "body": None}
        if len(self.log) < MOST_KEPT:
            self.log.append(note)
        return note

    def link(self, kind, identifier, seconds):
        """A signed one to the other host, which is valid for a while."""
        key = secrets.token_urlsafe(24)
        self.links[key] = kind, identifier, time.monotonic() + seconds
        return f"{self.files}/{kind}/{identifier}?sig={key}"

    def all_violations(self):
        """With those that are only looked for when they are wanted."""
        found = list(self.violations) + (self.schema.violations() if self.schema else [])
        for run in (run for run in self.runs.values() if not run.deleted):
            texts = [("an input", value) for value in run.inputs.values()] + [("the log", "\n".join(run.log))]
            texts += [(f"the artifact {one.name}", one.data) for one in run.artifacts]
            for where, data in texts:
                for seed in self.seeds.find(data):
                    found.append({"rule": "leak", "text": f"the seed {seed} in {where} of run {run.id}", "request": None})
        for note in self.log:
            for seed in self.seeds.find(f"{note['path']} {note['query']} {note['body']}"):
                found.append({"rule": "leak", "text": f"the seed {seed} in a request", "request": note["n"]})
        return found
