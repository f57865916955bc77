# SPDX-License-Identifier: MIT
"""What tests put between a client and the fake: delays, lost and broken answers, limits."""
import asyncio
import itertools
import json
import re

from aiohttp import web

FOREVER = 600  # seconds of an answer that does not come
PIECE = 1 << 20


class Dropped(Exception):
    """The connection is gone."""


class Fault:
    numbers = itertools.count(1)

    def __init__(self, given):
        self.id, match = next(self.numbers), given.get("match", {})
        self.match, self.path = {key: match[key] for key in ("kind", "repo", "method", "token") if key in match}, re.compile(match.get("path", ""))
        self.after, self.times, self.do, self.hits = given.get("after", 0), given.get("times", 1), given["do"], 0

    def applies(self, note):
        if self.times == 0 or any(note[key] != value for key, value in self.match.items()) or not self.path.search(note["path"]):
            return False
        if self.after > 0:
            self.after -= 1
            return False
        if self.times is not None:
            self.times -= 1
        self.hits += 1
        return True

    def json(self):
        return {"id": self.id, "hits": self.hits, "left": self.times, "do": self.do}


def find(world, note):
    """The one that applies to a request."""
    return next((fault for fault in world.faults if fault.applies(note)), None)


def drop(request):
    if request.transport:
        request.transport.abort()
    raise Dropped


async def before(fault, request):
    """What happens before a request has any effect."""
    do = fault.do
    if "delay_ms" in do:
        await asyncio.sleep(do["delay_ms"] / 1000)
    if do.get("drop") == "before":
        drop(request)
    if do.get("hang"):
        await asyncio.sleep(FOREVER)


def changed(do, status, data, headers):
    """Another answer than the right one."""
    if "patch" in do:
        data = json.dumps({**json.loads(data), **do["patch"]}).encode()
    if "json" in do:
        data, headers = json.dumps(do["json"]).encode(), {**headers, "Content-Type": "application/json; charset=utf-8"}
    if "text" in do:
        data, headers = do["text"].encode(), {**headers, "Content-Type": "text/html"}
    if "pad" in do:
        data += b" " * do["pad"]
    if "status" in do or "json" in do or "text" in do or "patch" in do:
        headers.pop("ETag", None)
    return do.get("status", status), data, {**headers, **do.get("headers", {})}


async def send(fault, request, note, status, data, headers):
    """Sends an answer, in the way of the fault if there is one."""
    do = fault.do if fault else {}
    if "delay_answer_ms" in do:
        await asyncio.sleep(do["delay_answer_ms"] / 1000)
    if do.get("drop") == "after":
        drop(request)
    status, data, headers = changed(do, status, data, headers)
    note["status"] = status
    if "cut" not in do and "length" not in do:
        return web.Response(status=status, body=data, headers=headers)
    answer = web.StreamResponse(status=status, headers={**headers, "Content-Length": str(do.get("length", len(data)))})
    await answer.prepare(request)
    await answer.write(data[:do.get("cut", len(data))])
    return drop(request)
