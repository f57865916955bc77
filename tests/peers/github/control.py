# SPDX-License-Identifier: MIT
"""What tests do with the fake, below /control/: see fake.py."""
import collections
import pathlib

from aiohttp import web

import faults
import world as state

SCRIPT = {"queue_ms", "run_ms", "hold", "conclusion", "lost", "unstarted", "artifact", "late_ms", "digest", "size", "zip", "result_of", "link", "deaf"}


class Control:
    def __init__(self, world):
        self.world = world
        self.posts = {"repo": self.set_repo, "token": self.set_token, "seeds": self.add_seeds, "release": self.release,
                      "settings": self.set_settings, "behave": self.behave, "faults": self.add_fault, "forget": self.forget}
        self.gets = {"runs": self.runs, "log": self.log, "counters": self.counters, "settings": lambda _: self.world.settings,
                     "violations": lambda _: {"violations": self.world.all_violations()},
                     "faults": lambda _: {"faults": [one.json() for one in self.world.faults]}}

    def add_to(self, router):
        router.add_post("/control/{what}", self.post)
        router.add_get("/control/{what}", self.get)
        router.add_delete("/control/faults", self.clear_faults)

    async def post(self, request):
        return self.guarded(self.posts, request, await request.json())

    async def get(self, request):
        return self.guarded(self.gets, request, request.query)

    def guarded(self, handlers, request, given):
        handler = handlers.get(request.match_info["what"])
        if not handler:
            return web.json_response({"error": "there is no such control"}, status=404)
        try:
            out = handler(given)
        except (KeyError, ValueError, TypeError, AttributeError) as error:
            return web.json_response({"error": f"{type(error).__name__}: {error}"}, status=400)
        return web.json_response({} if out is None else out)

    def set_repo(self, given):
        repo = self.world.repos.get(given["name"])
        if not repo:
            repo = self.world.repos[given["name"]] = state.Repo(self.world, given["name"])
        repo.folder = pathlib.Path(given["folder"]) if "folder" in given else repo.folder
        for name in ("branch", "secrets", "env"):
            setattr(repo, name, given.get(name, getattr(repo, name)))
        repo.settings.update(self.settings({key: value for key, value in given.items() if key not in ("name", "folder", "branch", "secrets", "env")}))
        return {"id": repo.id}

    def settings(self, given):
        unknown = set(given) - set(state.SETTINGS)
        if unknown:
            raise ValueError(f"there are no settings {unknown}")
        return given

    def set_settings(self, given):
        self.world.settings.update(self.settings(given))

    def set_token(self, given):
        token = self.world.tokens.get(given["token"]) or self.world.add_token(given["token"])
        token.limit, token.window = given.get("limit", token.limit), given.get("window_s", token.window)
        token.repos, token.revoked = given.get("repos", token.repos), given.get("revoked", token.revoked)
        return {"number": token.number}

    def add_seeds(self, given):
        self.world.seeds.add(given["seeds"])

    def release(self, given):
        self.world.repos[given["repo"]].released += 1

    def behave(self, given):
        unknown = set(given["do"]) - SCRIPT
        if unknown:
            raise ValueError(f"a run cannot do {unknown}")
        self.world.repos[given["repo"]].scripts.append({"times": given.get("times", 1), "do": given["do"]})

    def add_fault(self, given):
        fault = faults.Fault(given)
        self.world.faults.append(fault)
        return {"fault": fault.id}

    async def clear_faults(self, _):
        self.world.faults.clear()
        return web.json_response({})

    def forget(self, _):
        """What has ended is no longer there either."""
        for run in [run for run in self.world.runs.values() if run.status == "completed"]:
            run.deleted = True
        self.world.log.clear()
        if self.world.schema:
            self.world.schema.forget()
        self.world.violations.clear()

    def runs(self, query):
        found = [run for run in self.world.runs.values() if query.get("repo") in (None, run.repo.name)]
        return {"runs": [{"id": run.id, "repo": run.repo.name, "name": run.title, "status": run.status, "conclusion": run.conclusion,
                          "inputs": run.inputs, "log": run.log, "script": run.script, "labels": run.labels,
                          "created": run.created, "completed": run.completed,
                          "artifacts": [{"id": one.id, "name": one.name, "size": len(one.data)} for one in run.artifacts]} for run in found]}

    def log(self, query):
        after = int(query.get("after", 0))
        return {"log": [note for note in self.world.log if note["n"] > after]}

    def counters(self, query):
        requests, same, tokens = collections.Counter(), collections.Counter(), collections.Counter()
        for note in self.world.log:
            if query.get("repo") not in (None, note["repo"]):
                continue
            (same if note["status"] == 304 else requests)[note["kind"]] += 1
            if note["token"] is not None:
                tokens[note["token"]] += 1
        return {"requests": requests, "not_modified": same, "total": sum(requests.values()), "tokens": tokens}
