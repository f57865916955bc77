# SPDX-License-Identifier: MIT
"""REST: what every request goes through: faults, authorization, limits, ETags, the log; and the paths themselves."""
import asyncio
import hashlib
import json
import re
import time

import yaml
from aiohttp import web

import faults
import forms
from workflow import Refused, Workflow
from world import Refusal, Run, stamp

OLD_VERSION, NEW_VERSION = "2022-11-28", "2026-03-10"
SLACK = 0.05  # what clocks and rounding may differ by
SILENT = 60  # seconds to wait where no header says it
MOST_LISTED = 1000
ROUTES = []


def route(method, kind, template):
    def register(handler):
        pattern = "^" + re.sub(r"\\\{(\w+)\\\}", r"(?P<\1>[^/]+)", re.escape(template)) + "$"
        ROUTES.append((method, kind, re.compile(pattern), handler))
        return handler
    return register


class Call:
    """One request: what handlers get."""

    def __init__(self, world, request, note):
        self.world, self.request, self.note, self.query = world, request, note, request.query
        self.body, self.token, self.repo = None, None, None
        self.version = request.headers.get("X-GitHub-Api-Version", OLD_VERSION)

    def page(self, items, key, form):
        """A page of a list, with the Link header."""
        size = min(100, max(1, self.number("per_page", 30)))
        page, total = max(1, self.number("page", 1)), len(items)
        last, url = max(1, -(-min(total, MOST_LISTED) // size)), self.request.url
        links = [f'<{self.world.url}{url.update_query(page=number).path_qs}>; rel="{name}"' for name, number, there in (
            ("prev", page - 1, page > 1), ("next", page + 1, page < last), ("last", last, page < last), ("first", 1, page > 1)) if there]
        body = {"total_count": total, key: [form(one) for one in items[:MOST_LISTED][(page - 1) * size:page * size]]}
        return 200, body, {"Link": ", ".join(links)} if links else {}

    def number(self, name, default):
        try:
            return int(self.query.get(name, default))
        except ValueError:
            return default


class Api:
    def __init__(self, world):
        self.world = world

    async def serve(self, request):
        """Every request that is no control."""
        world, note = self.world, self.world.note(request, "api")
        call = Call(world, request, note)
        world.open += 1
        try:
            try:
                raw = await request.read()
                handler, names = self.find(call, raw)
                fault = faults.find(world, note)
                if fault:
                    await faults.before(fault, request)
                status, body, headers = await self.answer(call, handler, names, fault)
            except Refusal as refusal:
                fault, status, body, headers = locals().get("fault"), refusal.status, refusal.body, refusal.headers
            return await self.send(call, fault, status, body, headers)
        except faults.Dropped:
            return web.Response()
        except Exception as error:
            world.violate("fake", f"{type(error).__name__}: {error}", note["n"])
            return web.json_response({"message": "Server Error"}, status=500)
        finally:
            world.open -= 1

    def find(self, call, raw):
        """The handler of a request, with what the path names; the note of it is complete then."""
        note, request = call.note, call.request
        authorization = request.headers.get("Authorization", "").split()
        known = authorization[-1] if len(authorization) == 2 and authorization[0].lower() in ("bearer", "token") else None
        call.token = self.world.tokens.get(known)
        note["token"] = call.token.number if call.token else None
        for method, kind, pattern, handler in ROUTES:
            found = pattern.match(request.path)
            if found and method == request.method:
                note["kind"], names = kind, found.groupdict()
                note["repo"] = f"{names['owner']}/{names['repo']}" if "owner" in names else None
                break
        else:
            raise Refusal(404, "Not Found")
        if raw:
            try:
                call.body = note["body"] = json.loads(raw)
            except ValueError:
                self.world.violate("openapi", f"a body that is no JSON: {raw[:80]!r}", note["n"])
                raise Refusal(400, "Problems parsing JSON") from None
        if self.world.schema:
            self.world.schema.keep(note)
        return handler, names

    async def answer(self, call, handler, names, fault):
        world, request = self.world, call.request
        if not request.headers.get("User-Agent"):
            world.violate("user-agent", "a request without User-Agent", call.note["n"])
            raise Refusal(403, "Request forbidden by administrative rules. Please make sure your request has a User-Agent header")
        self.check_token(call)
        self.limit(call, (fault.do if fault else {}))
        call.repo = world.repos.get(call.note["repo"])
        if "owner" in names and (not call.repo or (call.token.repos is not None and call.repo.name not in call.token.repos)):
            raise Refusal(404, "Not Found")
        enterprise = call.repo and call.repo.setting("enterprise")
        if call.version not in ((OLD_VERSION,) if enterprise else (OLD_VERSION, NEW_VERSION)):
            raise Refusal(400, f"The 'X-GitHub-Api-Version' header {call.version!r} is not a supported version")
        delay = (call.repo.setting if call.repo else world.settings.get)("answer_ms")
        if delay:
            await asyncio.sleep(delay / 1000)
        if fault and "run" in fault.do:
            names["run_id"] = str(fault.do["run"])
        return handler(call, **{key: value for key, value in names.items() if key not in ("owner", "repo")})

    def check_token(self, call):
        if not call.token or call.token.revoked:
            raise Refusal(401, "Bad credentials" if "Authorization" in call.request.headers else "Requires authentication")

    def limit(self, call, do):
        """Refuses what is over a limit, and notes a client that does not obey."""
        try:
            self.check_limits(call, do)
        except Refusal:
            call.token.told.add(call.request.transport)
            raise

    def check_limits(self, call, do):
        token, now, settings = call.token, time.monotonic(), self.world.settings
        if now < token.until:
            # What comes by another connection may have been on its way when it was told.
            if call.request.transport in token.told and now < token.until - SLACK:
                self.world.violate("limit", f"token {token.number}: {call.note['method']} {call.note['path']} "
                                   f"{token.until - now:.2f} s before it may", call.note["n"])
            raise Refusal(403, "You have exceeded a secondary rate limit. Please wait a few minutes before you try again.")
        if "primary" in do:
            self.exhaust(token, do["primary"].get("reset_s", 1), do["primary"].get("status", 403))
        if "secondary" in do:
            self.slow_down(token, do["secondary"].get("retry_after"), do["secondary"].get("status", 403))
        change = call.note["method"] != "GET"
        while token.spent and token.spent[0][0] < now - settings["points_s"]:
            token.spent.popleft()
        if sum(points for _, points in token.spent) + (5 if change else 1) > settings["points"] or self.world.open > settings["concurrent"]:
            self.slow_down(token, 1, 403)
        token.spent.append((now, 5 if change else 1))
        if change:
            if now < token.changed + settings["spacing_s"] - SLACK:
                self.world.violate("spacing", f"token {token.number}: a change {now - token.changed:.3f} s after the last one",
                                   call.note["n"])
            token.changed = now
        if not token.count(time.time()):
            self.exhaust(token, None, 403)

    def exhaust(self, token, seconds, status):
        """The primary limit is used up, until a whole second."""
        if seconds is not None:
            token.used, token.reset = token.limit, time.time() + seconds
        headers = token.headers()
        token.wait(int(headers["X-RateLimit-Reset"]) - time.time())
        raise Refusal(status, "API rate limit exceeded for user ID 583231.", headers)

    def slow_down(self, token, seconds, status):
        token.wait(SILENT if seconds is None else seconds)
        headers = {} if seconds is None else {"Retry-After": str(seconds)}
        raise Refusal(status, "You have exceeded a secondary rate limit. Please wait a few minutes before you try again.", headers)

    async def send(self, call, fault, status, body, headers):
        note, request = call.note, call.request
        data = b"" if body is None else json.dumps(body).encode()
        headers = {"X-GitHub-Request-Id": f"{note['n']:04X}:1", "X-GitHub-Media-Type": "github.v3; format=json", "Server": "github.com",
                   **(call.token.headers() if call.token else {}), **headers}
        if body is not None:
            headers["Content-Type"] = "application/json; charset=utf-8"
        if self.world.schema and note["kind"] not in ("unknown", "rate_limit") and (status in (200, 302, 204, 202) or (
                status in (409, 410) and note["kind"] != "dispatch")):
            self.world.schema.keep(dict(note), (status, data, {"Location": headers.get("Location", ""), "Link": headers.get("Link", "")}))
        if status == 200 and request.method == "GET" and body is not None:
            headers["ETag"] = f'W/"{hashlib.sha256(data).hexdigest()}"'
            if request.headers.get("If-None-Match") == headers["ETag"] and not (fault and {"json", "text", "patch", "status"} & set(fault.do)):
                status, data = 304, b""
                call.token.used -= 1  # it costs nothing
                headers = {**headers, **call.token.headers()}
                headers.pop("Content-Type")
        return await faults.send(fault, request, note, status, data, headers)


def find_run(call, run_id):
    run = call.world.runs.get(int(run_id)) if run_id.isdigit() else None
    if not run or run.repo is not call.repo or run.deleted:
        raise Refusal(404, "Not Found")
    return run


def find_workflow(call, name):
    try:
        flow = Workflow(call.repo.folder, call.repo.workflow_file if name == str(call.repo.workflow_id) else name)
    except OSError:
        raise Refusal(404, "Not Found") from None
    except (yaml.YAMLError, AttributeError, KeyError, TypeError) as error:
        raise Refusal(422, f"failed to parse workflow: {error}") from None
    call.repo.workflow_file = flow.path.rsplit("/", 1)[1]
    return flow


REPO = "/repos/{owner}/{repo}"
ACTIONS = f"{REPO}/actions"


@route("POST", "dispatch", f"{ACTIONS}/workflows/{{workflow_id}}/dispatches")
def dispatch(call, workflow_id):
    world, repo, body = call.world, call.repo, call.body
    if not isinstance(body, dict) or not isinstance(body.get("ref"), str):
        raise Refusal(422, "Invalid request.\n\n\"ref\" wasn't supplied.")
    flow = find_workflow(call, workflow_id)
    if body["ref"] not in (repo.branch, f"refs/heads/{repo.branch}"):
        raise Refusal(422, f"No ref found for: {body['ref']}")
    try:
        inputs = flow.inputs(body.get("inputs") or {})
        title = flow.title({"inputs": inputs, "github": {"actor": "kettle", "ref_name": repo.branch}, "vars": {}})
    except Refused as refused:
        raise Refusal(422, str(refused)) from None
    run = Run(repo, flow.path, inputs, title, repo.next_script())
    world.runs[run.id] = run
    repo.runs.append(run)
    world.machines.start(run, flow)
    if repo.setting("enterprise") or (call.version == OLD_VERSION and not body.get("return_run_details")):
        return 204, None, {}
    return 200, {"workflow_run_id": run.id, "run_url": f"{world.url}/repos/{repo.name}/actions/runs/{run.id}",
                 "html_url": f"{world.url}/{repo.name}/actions/runs/{run.id}"}, {}


def within(text, when):
    """Whether a time is within what `created` says: >=TIME, TIME..TIME, TIME or a day."""
    when = stamp(when)
    found = re.fullmatch(r"(>=|<=|>|<)?([^.]*)(?:\.\.(.*))?", text)
    operator, first, second = found.groups()
    first = first.replace("+00:00", "Z")
    if second is not None:
        return (first in ("", "*") or when >= first) and (second in ("", "*") or when[:len(second)] <= second)
    return {">=": when >= first, "<=": when <= first, ">": when > first, "<": when < first, None: when.startswith(first)}[operator]


def listed(call):
    query = call.query
    found = [run for run in reversed(call.repo.runs) if not run.deleted]
    if status := query.get("status"):
        found = [run for run in found if status in (run.status, run.conclusion)]
    if created := query.get("created"):
        found = [run for run in found if within(created, run.created)]
    for name, value in (("branch", call.repo.branch), ("event", "workflow_dispatch"), ("actor", "kettle")):
        if query.get(name, value) != value:
            found = []
    for name, attribute in (("head_sha", "sha"), ("check_suite_id", "suite_id")):
        if name in query:
            found = [run for run in found if str(getattr(run, attribute)) == query[name]]
    return call.page(found, "workflow_runs", forms.run)


@route("GET", "runs", f"{ACTIONS}/workflows/{{workflow_id}}/runs")
def workflow_runs(call, workflow_id):
    find_workflow(call, workflow_id)
    return listed(call)


@route("GET", "runs", f"{ACTIONS}/runs")
def all_runs(call):
    return listed(call)


@route("GET", "workflow", f"{ACTIONS}/workflows/{{workflow_id}}")
def get_workflow(call, workflow_id):
    return 200, forms.workflow(call.repo, find_workflow(call, workflow_id), call.repo.workflow_id), {}


@route("GET", "run", f"{ACTIONS}/runs/{{run_id}}")
def get_run(call, run_id):
    return 200, forms.run(find_run(call, run_id)), {}


@route("DELETE", "delete", f"{ACTIONS}/runs/{{run_id}}")
def delete_run(call, run_id):
    run = find_run(call, run_id)
    if run.status != "completed":
        raise Refusal(403, "This workflow run is still running.")
    run.deleted = True
    return 204, None, {}


@route("GET", "artifacts", f"{ACTIONS}/runs/{{run_id}}/artifacts")
def get_artifacts(call, run_id):
    found, name = find_run(call, run_id).artifacts, call.query.get("name")
    found = [one for one in found if name in (None, one.name)]
    return call.page(found if call.query.get("direction") == "asc" else found[::-1], "artifacts", forms.artifact)


@route("GET", "jobs", f"{ACTIONS}/runs/{{run_id}}/jobs")
def get_jobs(call, run_id):
    return call.page([find_run(call, run_id)], "jobs", forms.job)


def end_run(call, run_id, force):
    run = find_run(call, run_id)
    if run.status == "completed":
        raise Refusal(409, "Cannot cancel a workflow run that is completed.")
    if force or not run.script.get("deaf"):
        run.cancelled, run.forced = True, run.forced or force
        run.wake.set()
    return 202, {}, {}


@route("POST", "cancel", f"{ACTIONS}/runs/{{run_id}}/cancel")
def cancel_run(call, run_id):
    return end_run(call, run_id, False)


@route("POST", "force_cancel", f"{ACTIONS}/runs/{{run_id}}/force-cancel")
def force_cancel_run(call, run_id):
    return end_run(call, run_id, True)


@route("GET", "zip", f"{ACTIONS}/artifacts/{{artifact_id}}/{{archive_format}}")
def download(call, artifact_id, archive_format):
    artifact = call.world.artifacts.get(int(artifact_id)) if artifact_id.isdigit() else None
    if not artifact or artifact.run.repo is not call.repo or archive_format != "zip":
        raise Refusal(404, "Not Found")
    if artifact.expired:
        raise Refusal(410, "Artifact has expired")
    link = artifact.run.script.get("link")
    if link == "none":
        return 302, None, {}
    return 302, None, {"Location": call.world.link("artifact", artifact.id, 0 if link == "expired" else call.repo.setting("link_s"))}


@route("GET", "logs", f"{ACTIONS}/jobs/{{job_id}}/logs")
def logs(call, job_id):
    run = next((one for one in call.repo.runs if str(one.job_id) == job_id), None)
    if not run or run.status != "completed":
        raise Refusal(404, "Not Found")
    return 302, None, {"Location": call.world.link("log", run.id, call.repo.setting("link_s"))}


@route("GET", "rate_limit", "/rate_limit")
def rate_limit(call):
    token = call.token
    token.used -= 1  # it costs nothing
    core = {"limit": token.limit, "remaining": max(0, token.limit - token.used), "used": token.used, "reset": int(token.reset) + 1,
            "resource": "core"}
    return 200, {"resources": {"core": core}, "rate": core}, {}
