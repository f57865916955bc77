# SPDX-License-Identifier: MIT
"""REST: what every request goes through: faults, authorization, limits, the parts of a body, the log."""
import asyncio
import contextlib
import email
import hashlib
import json
import re
import time

from aiohttp import web

import forms
import limits
import world as state

ROUTES = []
API = "/api/v10"
MOST_BODY = 64 << 20


def route(method, template, **traits):
    """Registers a handler. Traits: exempt (from the overall limit), open (needs no token of the bot), plain (no bucket)."""
    def register(handler):
        pattern = "^" + re.sub(r"\\\{(\w+)\\\}", r"(?P<\1>[^/]+)", re.escape(template)) + "$"
        ROUTES.append((method, re.compile(pattern), template, traits, handler))
        return handler
    return register


class Call:
    """One request: what handlers get."""

    def __init__(self, api, request, path):
        self.api, self.world, self.request, self.path = api, api.world, request, path
        self.query, self.body, self.files, self.raw, self.kind = request.query, None, {}, b"", request.content_type
        self.note = {"n": len(api.world.log) + 1, "time": api.world.clock.now(), "method": request.method, "path": path,
                     "query": dict(request.query), "status": None, "code": None, "invalid": False, "files": []}

    def number(self):
        return self.note["n"]

    def flag(self, name):
        return self.query.get(name, "").lower() in ("true", "1")

    def violate(self, rule, text):
        self.world.violate(rule, text, self.number())

    async def read(self):
        """The body: JSON, or the parts of a form."""
        self.raw = await self.request.read()
        if self.kind == "multipart/form-data":
            self.read_form()
        elif self.raw:
            self.body = self.parse(self.raw)
            if self.kind != "application/json":
                self.violate("content-type", f"a body of type {self.kind}")
        self.note["body"] = self.body
        self.note["files"] = [{"part": part, "name": file["name"], "type": file["type"], "size": len(file["data"]),
                               "sha256": hashlib.sha256(file["data"]).hexdigest()} for part, file in self.files.items()]

    def parse(self, raw):
        try:
            return json.loads(raw)
        except ValueError:
            self.violate("json", f"a body that is no JSON: {raw[:80]!r}")
            raise state.Refusal(400, 50109, "The request body contains invalid JSON.") from None

    def read_form(self):
        settings = self.world.settings
        if len(self.raw) > settings["request_bytes"]:
            raise self.too_large(f"a request of {len(self.raw)} bytes")
        try:
            head = email.message_from_string(f"Content-Type: {self.request.headers['Content-Type']}")
            parts = forms.parts(self.raw, head.get_param("boundary"))
        except forms.Broken as error:
            self.violate("form", f"a broken form: {error}")
            raise state.Refusal(400, 50035, "Invalid Form Body") from None
        for name, file, kind, data in parts:
            found = re.fullmatch(r"files\[(\d+)\]|file(\d*)", name)
            if name == "payload_json":
                self.body = self.parse(data)
            elif found and file is not None:
                if len(data) > settings["file_bytes"]:
                    raise self.too_large(f"the file {file} with {len(data)} bytes")
                self.files[found.group(1) or found.group(2) or "0"] = {"name": file, "type": kind, "data": data}
            else:
                self.violate("form", f"an unknown part {name} of a form")

    def too_large(self, what):
        self.violate("size", what)
        return state.Refusal(413, 40005, "Request entity too large")


class Api:
    def __init__(self, world, gateway, schema):
        self.world, self.gateway, self.schema = world, gateway, schema
        self.limits, self.faults, self.clients = limits.Limits(world), [], []

    def find(self, method, path):
        allowed = False
        for one, pattern, template, traits, handler in ROUTES:
            found = pattern.match(path)
            if found and one == method:
                return template, traits, handler, found.groupdict()
            allowed = allowed or bool(found)
        if allowed:
            raise state.Refusal(405, 0, "405: Method Not Allowed")
        raise state.Refusal(404, 0, "404: Not Found")

    async def serve(self, request):
        """Every request below /api/v10."""
        call = Call(self, request, request.path[len(API):])
        began = time.monotonic()
        self.world.log.append(call.note)
        try:
            await call.read()
            status, body, headers = 200, None, {}
        except state.Refusal as refusal:
            status, body, headers = refusal.status, refusal.body, {}
        fault = self.fault(request.method, call)
        if fault.get("delay_ms"):
            await asyncio.sleep(fault["delay_ms"] / 1000)
        if fault.get("drop") == "before":
            call.note["status"] = "dropped"
            return self.drop(request)
        if status == 200:
            latency = self.world.settings["latency_ms"]
            if latency:
                await asyncio.sleep(latency / 1000)
            status, body, headers = await self.answer(call, fault)
        call.note.update(status=status, code=body.get("code") if isinstance(body, dict) else None, headers=headers,
                         ms=round((time.monotonic() - began) * 1000, 1))
        self.count(call, status, headers, fault)
        if fault.get("delay_answer_ms"):
            await asyncio.sleep(fault["delay_answer_ms"] / 1000)
        if fault.get("drop") == "after":
            call.note["dropped_after"] = True
            return self.drop(request)
        return await self.send(request, status, body, headers, fault)

    def fault(self, method, call):
        for one in self.faults:
            if one.applies(method, call.path, call.raw.decode("utf-8", "replace") if one.body else ""):
                call.note["fault"] = one.action
                return one.action
        return {}

    def drop(self, request):
        if request.transport:
            request.transport.abort()
        return web.Response()

    async def answer(self, call, fault):
        """(status, body, headers): what Discord would answer, or what the fault says instead."""
        world, now = self.world, self.world.clock.now()
        if now < self.limits.banned_until:
            return 429, "error code: 1015", {"Retry-After": str(int(self.limits.banned_until - now) + 1)}
        headers = {}
        try:
            template, traits, handler, names = self.find(call.request.method, call.path)
            call.note["route"] = template
            if "rate_limit" in fault:
                return self.injected(fault["rate_limit"])
            if "status" in fault:
                return fault["status"], fault.get("json", {"message": "injected", "code": 0}), dict(fault.get("headers", {}))
            self.authorize(call, traits)
            limited = self.limited(call, template, traits, names, headers, now)
            if limited:
                return limited
            if self.schema and call.body is not None:
                self.schema.keep(call.number(), call.request.method, call.path, call.body)
            found = handler(call, **names)
            if asyncio.iscoroutine(found):
                found = await found
            status, body = found if isinstance(found, tuple) else (200, found)
            return (204, None, headers) if body is None and status == 200 else (status, body, headers)
        except state.Refusal as refusal:
            return refusal.status, refusal.body, headers
        except Exception as error:  # a bug here, or a body that no rule foresaw
            world.violate("fake", f"{call.request.method} {call.path}: {type(error).__name__}: {error}", call.number())
            return 500, {"message": "500: Internal Server Error", "code": 0}, headers

    def injected(self, given):
        wait, scope = given.get("retry_after", 1), given.get("scope", "global" if given.get("global") else "user")
        headers = {"Retry-After": str(given.get("header", int(wait + 0.999))), "X-RateLimit-Scope": scope}
        if given.get("global"):
            headers["X-RateLimit-Global"] = "true"
        return 429, {"message": "You are being rate limited.", "retry_after": wait, "global": bool(given.get("global"))}, headers

    def authorize(self, call, traits):
        agent = call.request.headers.get("User-Agent", "")
        if not re.match(r"^DiscordBot \(\S+[, ] ?\S+\)", agent):
            call.violate("user-agent", f"User-Agent is {agent!r}, not \"DiscordBot (url, version)\"")
        given = call.request.headers.get("Authorization")
        if traits.get("open") and given is None:
            return
        if given != f"Bot {self.world.token}":
            raise state.Refusal(401, 0, "401: Unauthorized")

    def limited(self, call, template, traits, names, headers, now):
        """The answer 429 if the request is over a limit; fills in the headers of its bucket."""
        if not self.world.settings["rate_limits"]:
            return None
        if not traits.get("exempt"):
            wait = self.limits.over_all(now)
            if wait is not None:
                return self.injected({"retry_after": round(wait, 3), "global": True})
        if traits.get("plain"):
            return None
        major = names.get("channel") or names.get("guild") or names.get("webhook", "") + names.get("token", "")
        bucket = self.limits.bucket(call.request.method, template, major)
        fits = bucket.take(now)
        headers.update(self.limits.headers(call.request.method, template, bucket, now))
        if fits:
            return None
        call.note["told"] = bucket.told(now)
        wait = max(0.001, round(bucket.until - now, 3))
        status, body, more = self.injected({"retry_after": wait})
        return status, body, {**headers, **more}

    def count(self, call, status, headers, fault):
        """What Discord counts as invalid; note["invalid"]: what a bot without fault never gets."""
        if status not in (401, 403, 404, 429):
            return
        provoked = "rate_limit" in fault or "status" in fault
        call.note["provoked"] = provoked
        call.note["invalid"] = not provoked and (status != 429 or call.note.get("told", True))
        if status in (401, 403) or status == 429 and headers.get("X-RateLimit-Scope") != "shared":
            self.limits.count_invalid(self.world.clock.now())

    async def send(self, request, status, body, headers, fault):
        headers = {"Via": "1.1 fake", **headers}
        if status == 204:
            return web.Response(status=204, headers=headers)
        kind = "application/json" if not isinstance(body, str) else "text/html"
        data = body.encode() if isinstance(body, str) else json.dumps(body).encode()
        if "garbage" in fault:
            data = str(fault["garbage"]).encode()
        if "cut" in fault or "length" in fault:
            answer = web.StreamResponse(status=status, headers={**headers, "Content-Length": str(fault.get("length", len(data)))})
            answer.content_type = kind
            await answer.prepare(request)
            await answer.write(data[:fault.get("cut", len(data))])
            return self.drop(request)
        return web.Response(status=status, body=data, content_type=kind, headers=headers)


def files_of(world):
    """Downloads of attachments: by URL, for a while."""
    async def serve(request):
        file = world.files.get(request.match_info["id"])
        world.log.append(note := {"n": len(world.log) + 1, "time": world.clock.now(), "method": "GET", "path": request.path,
                                  "route": "/attachments", "status": 200, "code": None, "invalid": False, "files": []})
        fault = file["fault"] if file else "missing"
        expired = file and world.clock.now() > file["created"] + world.settings["attachment_s"]
        signed = file and request.query.get("hm", "") in world.file_url(file) and request.query.get("hm")
        if "Authorization" in request.headers:
            world.violate("attachment", "the bot's token was sent to the server of attachments", note["n"])
        if fault in ("missing", "expired") or expired or not signed:
            note["status"] = 404
            return web.Response(status=404, text="This content is no longer available.")
        if str(fault).startswith("status:"):
            note["status"] = int(fault[7:])
            return web.Response(status=note["status"], text="fault")
        if str(fault).startswith("redirect:"):
            note["status"] = 302
            return web.Response(status=302, headers={"Location": fault[9:]})
        if not fault:
            return web.Response(body=file["data"], content_type=file["content_type"].partition(";")[0])
        with contextlib.suppress(ConnectionError):  # the client has gone
            return await faulty(request, file, fault)
        return web.Response()
    return serve


async def faulty(request, file, fault):
    """endless: never ends; cut: half of it; slow: one byte, then nothing; unsized: without its length."""
    answer = web.StreamResponse()
    if fault == "cut":
        answer.content_length = len(file["data"])
    else:
        answer.enable_chunked_encoding()
    await answer.prepare(request)
    if fault == "unsized":
        await answer.write(file["data"])
        await answer.write_eof()
        return answer
    await answer.write(file["data"][:1] if fault == "slow" else file["data"][:len(file["data"]) // 2])
    while fault == "endless" and request.transport:
        await answer.write(b"x" * 65536)
    while fault == "slow" and request.transport:
        await asyncio.sleep(0.1)
    if request.transport:
        request.transport.abort()
    return answer
